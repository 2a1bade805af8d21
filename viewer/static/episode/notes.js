// Notes and tags on an episode and on the turn shown.

import { MODE } from "../server.js";
import { announce, bdi, fill, h } from "../dom.js";
import { hasToken } from "../token.js";

const HOW = "To write notes, open the address that the viewer printed at its start.";

export class Notes {
  #turn = 0;
  #notes = null;

  constructor(episode) {
    this.episode = episode;
    const saved = () => this.show(this.#turn);
    this.forms = [new NoteForm("Note on this turn", (note) => this.#save(note, this.forms[0].turn), saved), new NoteForm("Note on the episode", (note) => this.#save(note, null), saved)];
    this.node = h("section", { class: "notes", "aria-label": "Notes" });
    this.ready = this.#load();
  }

  async #load() {
    this.#notes = await this.episode.notes().catch(() => null);
    if (!this.#notes) return fill(this.node, h("p", { class: "fine" }, "The notes could not be loaded."));
    const writes = MODE === "live" && hasToken();
    fill(this.node, writes ? this.forms.map((it) => it.node) : (this.shown = h("div", {})));
    this.show(this.#turn);
  }

  show(turn) {
    this.#turn = turn;
    if (!this.#notes) return;
    const { turns, ...whole } = this.#notes;
    const ofTurn = turns[turn] ?? { note: "", tags: [] };
    if (!this.shown) {
      this.forms[0].show(ofTurn, `Note on turn ${turn}`, turn);
      this.forms[1].show(whole, "Note on the episode", null);
      return;
    }
    const all = [[`Note on turn ${turn}`, ofTurn], ["Note on the episode", whole]].filter(([, it]) => it.note || it.tags.length);
    fill(this.shown, all.map(([name, it]) => [h("h3", {}, name), tagList(it.tags), it.note && h("p", { class: "note" }, bdi(it.note))]),
      !all.length && MODE === "live" && h("p", { class: "fine" }, HOW));
  }

  async #save(note, turn) {
    this.#notes = await this.episode.write({ turn, ...note });
    announce("The note is saved.");
  }
}

/** Tags, as they stand in lists. */
export const tagList = (tags) => tags?.length > 0 && h("ul", { class: "tags" }, tags.map((tag) => h("li", { class: "tag" }, bdi(tag))));

/** One note with its tags; what is being written stays until it is saved, whichever turn is shown. */
class NoteForm {
  #kept = "\n"; // of both fields, empty

  constructor(name, save, saved) {
    this.save = save;
    this.saved = saved;
    this.name = h("h3", {}, name);
    this.note = h("textarea", { rows: 2, maxlength: 4000, oninput: () => this.#mark() });
    this.tags = h("input", { type: "text", autocomplete: "off", placeholder: "tags, with commas between", oninput: () => this.#mark() });
    this.button = h("button", { type: "submit", disabled: true }, "Save");
    this.told = h("span", { class: "fine", role: "status" });
    this.node = h("form", { onsubmit: (event) => { event.preventDefault(); this.#submit(); } }, this.name, this.note, this.tags, h("div", { class: "save" }, this.button, this.told));
  }

  show({ note, tags }, name, turn) {
    if (this.#text !== this.#kept) return;
    this.turn = turn;
    this.name.textContent = name;
    this.note.setAttribute("aria-label", name);
    this.tags.setAttribute("aria-label", name.replace("Note", "Tags"));
    this.note.value = note;
    this.tags.value = tags.join(", ");
    this.told.textContent = "";
    this.#keep();
  }

  get #text() {
    return `${this.note.value}\n${this.tags.value}`;
  }

  #keep() {
    this.#kept = this.#text;
    this.#mark();
  }

  #mark() {
    this.button.disabled = this.#text === this.#kept;
  }

  async #submit() {
    const sent = this.#text;
    try {
      await this.save({ note: this.note.value, tags: this.tags.value.split(",") });
      this.#kept = sent; // not before: another turn may be shown meanwhile, and saving may fail
      this.saved();
      this.told.textContent = "Saved";
    } catch (error) {
      this.told.textContent = error.message;
    }
    this.#mark();
  }
}
