// What is true after the turn shown: the game's facts and what the player knows and wants.

import { ofEpisode } from "../address.js";
import { heldAt } from "../data.js";
import { bdi, fill, h, keepingFocus } from "../dom.js";
import { Notes } from "./notes.js";
import { known, placeName, score } from "../format.js";

export class Situation {
  #open = new Map([["Achieved", false], ["Given up", false]]);

  constructor(episode) {
    this.episode = episode;
    this.facts = h("div", {});
    this.about = h("p", { class: "fine about" }); // what the heading has no room for
    this.notes = new Notes(episode);
    this.node = h("section", { class: "situation", "aria-label": "Situation", tabindex: "0" }, this.facts, this.about, this.notes.node);
  }

  /** Show what was true after `turn`. */
  show(turn) {
    this.notes.show(turn);
    const seen = this.episode.observation(turn);
    if (!seen) return fill(this.facts, h("p", { class: "fine" }, `What was true after turn ${turn} is not known.`));
    const { info } = this.episode;
    const [open, achieved, left] = objectivesAt(info.objectives, turn);
    const memories = info.memories.filter((it) => it.room.id === seen.room?.id && heldAt(it, turn));
    const claims = info.claims.filter((it) => heldAt(it, turn));
    const scrolled = this.node.scrollTop;
    keepingFocus(this.facts, () => fill(this.facts,
      h("h2", { class: "room", "data-room": seen.room?.id }, bdi(placeName(seen.room)), seen.dark && h("span", { class: "tag" }, "dark")),
      h("p", { class: "fine", "data-truth": "" }, truth(info.told)),
      facts(seen, this.episode.summary.hints, this.episode.summary.deaths === null ? null : deathsUntil(info.marks, turn)),
      words("In view", seen.visible), words("Inventory", seen.inventory),
      this.#exits(seen, turn),
      this.#part("Objectives", open.map((it) => objective(it)), "None open."),
      this.#part("Achieved", achieved.map((it) => objective(it, this.episode.id))),
      this.#part("Given up", left.map((it) => objective(it, this.episode.id))),
      this.#part("Remembered here", memories.map((it) => memory(it, this.episode.id)), "Nothing about this room."),
      this.#part("Learned about the world", claims.map((it) => claim(it, this.episode.id)).reverse(), "Nothing yet.")));
    this.node.scrollTop = scrolled;
  }

  #exits(seen, turn) {
    const tried = this.episode.info.map.blocked.filter((it) => it.room === seen.room?.id && it.turn <= turn);
    const ways = seen.exits.filter((it) => it.kind !== "blocked").map((it) => h("li", {}, h("b", {}, it.direction), " ",
      it.room?.name ? bdi(it.room.name) : it.note && bdi(it.note), it.kind === "door" && h("span", { class: "fine" }, " door")));
    const walls = tried.map((it) => h("li", { class: "blocked" }, h("b", {}, it.direction), " ", bdi(it.answer)));
    return this.#part("Exits", [...ways, ...walls], "None seen.");
  }

  /** A list that can be folded; it stays as the reader left it. */
  #part(name, items, none = null) {
    if (!items.length && none === null) return null;
    const details = h("details", { class: "part", open: this.#open.get(name) ?? true },
      h("summary", { "data-focus": name }, name, items.length > 0 && h("span", { class: "tally" }, String(items.length))),
      items.length ? h("ul", {}, items) : h("p", { class: "fine" }, none));
    details.addEventListener("toggle", () => this.#open.set(name, details.open));
    return details;
  }
}

/** Whose facts these are: the player is told no more than a level allows. */
const truth = (level) => `From the game’s memory.${level ? ` The player sees only level “${level}”.` : ""}`;

function facts(seen, hints, deaths) {
  const pairs = [["Score", score(seen)], ["Moves", known(seen.moves)], ["Deaths", known(deaths)], ...(hints ? [["Hints", hints]] : [])];
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", { "data-fact": name.toLowerCase() }, h("dt", {}, name), h("dd", {}, String(value)))));
}

function words(name, things) {
  return h("div", { class: "words" }, h("h3", {}, name),
    things?.length ? h("ul", {}, things.map((it) => h("li", {}, bdi(it)))) : h("p", { class: "fine" }, things ? "Nothing." : "Unknown."));
}

const deathsUntil = (marks, turn) => marks.filter((it) => it.kind === "death" && it.turn <= turn).length;

function objectivesAt(objectives, turn) {
  const known = objectives.filter((it) => it.opened <= turn);
  const isClosed = (it) => it.closed !== null && it.closed <= turn;
  return [known.filter((it) => !isClosed(it)), known.filter((it) => isClosed(it) && it.status === "completed"),
    known.filter((it) => isClosed(it) && it.status !== "completed")];
}

function objective(it, episode = null) {
  const needs = it.needs?.length > 0 && !episode ? ` needs ${it.needs.join(", ")}` : "";
  return h("li", {}, bdi(it.text), h("span", { class: "fine" }, it.room && [" at ", bdi(it.room.name)], needs,
    episode && [" ", bdi(it.reason ?? ""), " ", turnLink(episode, it.closed)]));
}

function memory(it, episode) {
  return h("li", { "data-category": it.category }, h("b", {}, bdi(it.title)), " ", bdi(it.text),
    h("span", { class: "fine" }, ` ${it.persistence}`, it.status === "tentative" && ", tentative", " ", source(it, episode)));
}

function claim(it, episode) {
  return h("li", {}, bdi(it.text), h("span", { class: "fine" }, ` ${it.basis} `, source(it, episode)));
}

function source(it, episode) {
  return it.carried ? "from an earlier episode" : turnLink(episode, it.from);
}

const turnLink = (episode, turn) => h("a", { href: ofEpisode(episode, turn) }, `turn ${turn}`);
