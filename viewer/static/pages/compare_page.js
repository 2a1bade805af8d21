// Episodes beside each other: their score lines, their sums, their turns from where they part, and the tree of branches they belong to.

import { ofComparison, ofEpisode } from "../address.js";
import { difference, differenceName, firstDifference, turnsAt } from "../beside.js";
import { Episode, readIndex } from "../data.js";
import { announce, bdi, clamp, fill, h } from "../dom.js";
import * as format from "../format.js";
import { LinesChart, MOST_LINES, swatch } from "../drawing/lines.js";
import { cutPoint } from "../text.js";

const ROWS = [
  ["Story", (it) => it.title || it.story], ["Model", format.playedBy], ["Seed", (it) => it.seed ?? "–"],
  ["Without", (it) => it.parts_off?.join(", ") || "–"], ["Score", format.score], ["Hints by a person", (it) => it.hints || "–"], ["Best score", (it) => format.known(it.best_score)],
  ["Turns", (it) => format.whole(it.turns)], ["End", format.ending], ["Deaths", (it) => format.known(it.deaths)], ["Rooms", (it) => format.known(it.rooms)],
  ["Model calls", (it) => format.whole(it.calls)], ["Tool calls", (it) => format.whole(it.tool_calls)],
  ["Reflections", (it) => it.reflections], ["Tokens", (it) => format.whole(format.tokens(it))],
  ["Cached", (it) => format.cached(it) || "–"], ["Cost", (it) => format.money(it.cost)],
];
const FIGURES = [["score", "Score"], ["tokens", "Tokens used"], ["cost", "Dollars spent"], ["seconds", "Seconds taken"]];
const SHOWN = 12; // turns beside each other
const ANSWER = 240; // characters of an answer of the game

export class ComparePage {
  constructor(address, { main, heading }) {
    Object.assign(this, { ids: address.ids, turn: address.turn, main, heading });
  }

  async open() {
    const { episodes, chunk } = await readIndex();
    if (this.closed) return;
    this.both = this.ids.map((id) => episodes.find((it) => it.id === id));
    const missing = this.ids.find((_, i) => !this.both[i]);
    if (missing) throw new Error(`there is no episode ${missing}`);
    document.title = "Comparison · ZorkGPT";
    fill(this.heading, h("p", {}, "Comparison"));
    this.chart = new LinesChart(`Over turns. Scores: ${this.both.map(reached).join("; ")}`);
    this.figure = h("select", { onchange: () => this.#draw() }, FIGURES.map(([value, name]) => h("option", { value }, name)));
    this.wrong = h("p", { class: "fine", role: "status" });
    this.beside = h("section", { class: "beside" });
    fill(this.main, h("div", { class: "compare" }, h("div", { class: "index-head" }, h("h1", {}, `${NUMBERS[this.both.length] ?? this.both.length} episodes`), h("div", { class: "tools" }, h("label", {}, "Show ", this.figure))),
      this.chart.node, this.wrong,
      this.both.length > MOST_LINES && h("p", { class: "fine" }, `The chart shows the first ${MOST_LINES}.`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures" }, this.#table()), this.beside, this.#trees(episodes)));
    this.episodes = this.both.map((it) => new Episode(it.id, chunk, { summary: it, map: { rooms: [] }, memories: [], claims: [], objectives: [] }));
    await this.#draw();
    await this.#begin().catch((error) => fill(this.beside, h("p", { class: "fine" }, `The turns could not be loaded. ${error.message}`)));
  }

  close() {
    this.closed = true;
    this.chart?.close();
  }

  accept(address) {
    if (address.page !== "compare" || String(address.ids) !== String(this.ids) || !this.told) return false;
    this.#goTo(address.turn || 1);
    return true;
  }

  /** What can be downloaded: the episodes. */
  get table() {
    return this.both && { name: "comparison", what: () => `These ${format.plural(this.both.length, "episode")}, one in each row, notes and tags included.`, rows: () => this.both };
  }

  /** The chosen figure of each episode over its turns: the score, or what was used until then. */
  async #draw() {
    const at = FIGURES.findIndex(([name]) => name === this.figure.value);
    this.wrong.textContent = "";
    if (!at) return this.chart.show(this.both.map(scoreLine), true);
    try {
      const spent = await Promise.all(this.episodes.slice(0, MOST_LINES).map((it) => it.spent()));
      if (FIGURES[at][0] === this.figure.value) this.chart.show(spent.map((points) => ({ turns: [0, ...points.map(([turn]) => turn)], values: [0, ...points.map((it) => it[at])] })), false);
    } catch (error) {
      this.wrong.textContent = `It could not be loaded. ${error.message}`;
    }
  }

  /** Find where the episodes part, and show the turns around it. */
  async #begin() {
    fill(this.beside, h("h2", {}, "Side by side"), h("p", { class: "fine", role: "status" }, "Looking for the first difference …"));
    this.first = await firstDifference(this.episodes);
    if (this.closed) return;
    const kind = this.first && difference(await turnsAt(this.episodes, this.first));
    this.told = h("p", { role: "status" }, this.first ? `First difference in turn ${this.first}: ${differenceName(kind)}.` : "They never differ.");
    this.rows = h("tbody", {});
    const button = (text, press, disabled = false) => h("button", { type: "button", disabled, onclick: press }, text);
    const names = this.both.map((it) => h("th", { scope: "col" }, bdi(it.id)));
    fill(this.beside, h("h2", {}, "Side by side"), this.told,
      h("div", { class: "tools" }, button("First difference", () => this.#goTo(this.first), !this.first), button("Earlier turns", () => this.#goTo(this.from - SHOWN / 2)),
        button("Later turns", () => this.#goTo(this.from + SHOWN + 2)), button("Next difference", () => this.#goToNext())),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Turns side by side" },
        h("table", { class: "turns-beside" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Turn"), names)), this.rows)));
    await this.#goTo(this.turn || this.first || 1, !this.turn);
  }

  /** Show the turns around one. */
  async #goTo(turn, keepsAddress = false) {
    const last = Math.max(...this.episodes.map((it) => it.last));
    this.turn = clamp(turn, 1, Math.max(1, last));
    this.from = clamp(this.turn - 2, 1, Math.max(1, last - SHOWN + 1));
    if (!keepsAddress) history.replaceState(null, "", ofComparison(this.ids, this.turn));
    const numbers = Array.from({ length: Math.min(SHOWN, last) }, (_, i) => this.from + i);
    const rows = await Promise.all(numbers.map(async (number) => this.#row(number, await turnsAt(this.episodes, number))));
    if (!this.closed) fill(this.rows, rows);
  }

  /** The first turn after the one that is marked in which they differ in another command or place. */
  async #goToNext() {
    const last = Math.max(...this.episodes.map((it) => it.last));
    for (let turn = this.turn + 1; turn <= last; turn++) {
      if (difference(await turnsAt(this.episodes, turn))) return this.#goTo(turn);
    }
    announce("They do not differ after that.");
  }

  #row(number, turns) {
    const kind = difference(turns);
    return h("tr", { "data-differs": kind || null, "aria-current": number === this.turn ? "true" : null }, h("th", { scope: "row" }, String(number)),
      turns.map((it, i) => h("td", {}, it ? [h("a", { href: ofEpisode(this.ids[i], number) }, bdi(it.command, { class: "typed" })),
        h("span", { class: "fine" }, ` ${format.placeName(it.after.room)} · score ${format.known(it.after.score)}`), h("p", {}, bdi(shortened(it.response)))] : h("span", { class: "fine" }, "ended"))));
  }

  /** For each family that they belong to, and that has branches: the tree of it. */
  #trees(episodes) {
    const families = [...new Set(this.both.map((it) => it.uid))].map((uid) => episodes.filter((it) => it.uid === uid)).filter((family) => family.some((it) => it.trunk));
    return families.map((family) => {
      const named = (name, but) => family.some((it) => it !== but && nameOf(it) === name);
      const roots = family.filter((it) => !it.trunk || !named(it.trunk, it));
      const rest = new Set(family.filter((it) => !roots.includes(it)));
      return h("section", { class: "branches" }, h("h2", {}, "Branches"), h("ul", {}, roots.map((it) => tree(it, rest, this.both))));
    });
  }

  #table() {
    return h("table", { class: "sums both" },
      h("thead", {}, h("tr", {}, h("td", {}), this.both.map((it, i) => h("th", { scope: "col" }, i < MOST_LINES && swatch(i + 1), h("a", { href: ofEpisode(it.id) }, bdi(it.id)))))),
      h("tbody", {}, ROWS.map(([name, show]) => h("tr", {}, h("th", { scope: "row" }, name), this.both.map((it) => h("td", {}, bdi(String(show(it)))))))));
  }
}

/** An episode and its branches, each of which leaves `rest`: names may come again, as in evaluations. */
function tree(root, rest, chosen) {
  const branches = [...rest].filter((it) => it.trunk === nameOf(root)).sort((a, b) => a.forked_at - b.forked_at || (a.id < b.id ? -1 : 1));
  branches.forEach((it) => rest.delete(it));
  const link = h("a", { href: ofEpisode(root.id), "aria-current": chosen.includes(root) ? "true" : null }, bdi(root.id));
  const origin = root.trunk ? ` from turn ${format.whole(root.forked_at)}` : "";
  return h("li", {}, link, `${origin}: score ${format.known(root.score)} after ${format.plural(root.turns, "turn")}${root.hints ? `, with ${format.hinted(root)}` : ""}`,
    branches.length > 0 && h("ul", {}, branches.map((it) => tree(it, rest, chosen))));
}

/** What its branches call it: an episode in a folder of an evaluation has the folder's name in its id. */
const nameOf = (episode) => episode.id.split("~").at(-1);

const NUMBERS = { 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight" };
const reached = (it) => `${it.id} reached ${format.known(it.score)} in ${it.turns} turns${it.hints ? ` with ${format.hinted(it)}` : ""}`;
const scoreLine = (it) => rising([[...it.scores.map(([turn]) => turn), it.turns], [...it.scores.map(([, score]) => score), it.score]]);
const shortened = (text) => (text.length > ANSWER ? `${text.slice(0, cutPoint(text, ANSWER))} …` : text);

/** A line without a turn that is said twice. */
function rising([turns, scores]) {
  const kept = turns.map((turn, i) => i).filter((i) => turns[i] > (turns[i - 1] ?? -1));
  return { turns: kept.map((i) => turns[i]), values: kept.map((i) => scores[i]) };
}
