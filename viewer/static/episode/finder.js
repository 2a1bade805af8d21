// Finding a turn: by its number, by words in it, or by what happened in it.

import { announce, h, highlight, icon } from "../dom.js";
import { plural } from "../format.js";
import { found, plain } from "../search.js";

const KINDS = { score: ["s", "score"], death: ["d", "death"], refusal: ["r", "refusal"], failure: ["x", "failure"], tool: ["t", "tool call"] };

export class Finder {
  #matches = [];
  #searched = { text: "", last: -1 };
  #tickets = 0;

  /** `on` has the functions shown(), the turn that is, go(turn), and text(), called with every new search. */
  constructor(episode, on) {
    Object.assign(this, { episode, on });
    this.input = h("input", { type: "search", class: "words", autocomplete: "off", placeholder: "Search", "aria-label": "Search this episode", oninput: () => this.input.value || this.search() });
    this.turn = h("input", { type: "text", inputmode: "numeric", class: "to-turn", autocomplete: "off", placeholder: "Turn", "aria-label": "Go to turn" });
    this.told = h("span", { class: "fine told", role: "status" });
    this.buttons = Object.entries(KINDS).map(([kind, [key, name]]) =>
      h("button", { type: "button", "data-kind": kind, title: `Next ${name} (${key})`, "aria-label": `Next ${name}`, onclick: () => this.jump(kind) }, name));
    this.node = h("div", { class: "finder", role: "search", "aria-label": "Turns" },
      form(() => this.match(1), this.input, step("previous", "Previous match", () => this.match(-1)), step("next", "Next match", () => this.match(1))),
      form(() => this.#goTo(), this.turn), h("div", { class: "jumps" }, this.buttons), this.told);
    this.update();
  }

  /** What a key does; `n` and the letters of kinds go back with the shift key. */
  key({ key, shiftKey }) {
    const small = key.toLowerCase();
    const kind = Object.keys(KINDS).find((it) => KINDS[it][0] === small);
    if (key === "/") this.input.select();
    else if (small === "g") this.turn.select();
    else if (small === "n") this.match(shiftKey ? -1 : 1);
    else if (kind) this.jump(kind, shiftKey ? -1 : 1);
    else return false;
    return true;
  }

  get text() {
    return this.input.value.trim();
  }

  /** A kind of which there is none yet cannot be gone to. */
  update() {
    for (const button of this.buttons) button.disabled = !this.episode.info.stops[button.dataset.kind].length;
  }

  jump(kind, by = 1) {
    const turns = this.episode.info.stops[kind];
    const name = KINDS[kind][1];
    const next = beyond(turns, this.on.shown(), by);
    if (next !== undefined) return this.#go(next, "");
    this.#tell(turns.length ? `No ${by > 0 ? "later" : "earlier"} ${name}` : `No ${name} in this episode`);
  }

  /** Go to the next turn with the words, round and round. */
  async match(by) {
    const isNew = this.#searched.text !== this.text; // then the turn that is shown may be one
    if (!(await this.search()) || !this.#matches.length) return;
    const turn = beyond(this.#matches, this.on.shown() - (isNew ? by : 0), by) ?? this.#matches.at(by > 0 ? 0 : -1);
    this.#go(turn, `${this.#matches.indexOf(turn) + 1} of ${plural(this.#matches.length, "turn")}`);
  }

  /** Look through all turns; false where another search has begun, or there is nothing to look for. */
  async search() {
    const ticket = ++this.#tickets;
    const { text, episode: { last } } = this;
    if (this.#searched.text === text && this.#searched.last === last) return Boolean(text);
    const matches = [];
    try {
      for (let number = 0; text && number <= this.episode.chunkOf(last); number++) {
        this.#tell("Searching …");
        await this.episode.load(number);
        if (ticket !== this.#tickets) return false;
        matches.push(...this.episode.turnsIn(number).filter((turn) => found(turn, text)).map(({ turn }) => turn));
      }
    } catch (error) {
      this.#tell(`The search failed. ${error.message}`);
      return false;
    }
    this.#matches = matches;
    this.#searched = { text, last };
    this.#tell(!text ? "" : matches.length ? plural(matches.length, "turn") : "No match");
    this.on.text();
    return Boolean(text);
  }

  /** Mark the words in a turn's article, and open what hides them. */
  mark(article) {
    highlight("found", article, plain(this.text));
  }

  #goTo() {
    const { last } = this.episode;
    const wanted = this.turn.value.trim();
    if (/^\d+$/.test(wanted) && Number(wanted) <= last) this.#go(Number(wanted), "");
    else this.#tell(`Enter a turn from 0 to ${last}`);
  }

  #go(turn, told) {
    this.#tell(told);
    this.on.go(turn);
  }

  #tell(text) {
    this.told.textContent = text;
    this.told.title = text;
    if (text) announce(text);
  }
}

function beyond(turns, shown, by) {
  return by > 0 ? turns.find((it) => it > shown) : turns.findLast((it) => it < shown);
}

function form(submit, ...children) {
  return h("form", { onsubmit: (event) => { event.preventDefault(); submit(); } }, children);
}

function step(name, label, press) {
  return h("button", { type: "button", class: "plain", "aria-label": label, title: label, onclick: () => press() }, icon(name));
}
