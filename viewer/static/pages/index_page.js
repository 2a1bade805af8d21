// All episodes: a table to sort, filter and compare, and a sum for each evaluation.

import { ofComparison, ofEpisode, ofExperiments, ofIndex, ofSearch } from "../address.js";
import { deleteEpisodes, readPartOfIndex, sizeOf, writeNote } from "../data.js";
import { MODE } from "../server.js";
import { announce, bdi, fill, h, keepingFocus, shortName } from "../dom.js";
import { FilterField } from "../filter_field.js";
import { keep, kept } from "../kept.js";
import { tagList } from "../episode/notes.js";
import * as format from "../format.js";
import { lineOf } from "../drawing/lines.js";
import { sparkline } from "../drawing/sparkline.js";
import { hasToken } from "../token.js";

const REFRESH = 2000; // milliseconds, while an episode runs or none has begun
const REFRESH_IDLE = 5000; // milliseconds, otherwise: another may begin
const ARCHIVED = "archived"; // a tag
const COLUMNS = [
  { name: "Episode", key: (it) => it.started ?? "", cell: episodeCell },
  { name: "Started", key: (it) => it.started ?? "", cell: (it) => format.moment(it.started), hidden: true },
  { name: "Story", key: (it) => it.title || it.story, cell: (it) => only("story", it.title || it.story) },
  { name: "Model", key: format.playedBy, cell: (it) => only("model", format.playedBy(it)) },
  { name: "Seed", key: (it) => it.seed ?? 0, cell: (it) => String(it.seed ?? "–"), number: true },
  { name: "Turns", key: (it) => it.turns, cell: (it) => format.whole(it.turns), number: true },
  { name: "Score", key: (it) => it.score, cell: (it) => [format.score(it), it.hints > 0 && h("span", { class: "fine hinted" }, format.hinted(it))], number: true },
  { name: "Curve", cell: (it, most) => sparkline(it.scores, it.turns, most, lineOf(it.id)) },
  { name: "End", key: format.ending, cell: endCell },
  { name: "Time", key: (it) => it.seconds ?? 0, cell: (it) => (it.seconds ? format.duration(it.seconds) : "–"), number: true },
  { name: "Tools", key: (it) => it.tool_calls, cell: (it) => format.whole(it.tool_calls), number: true, hidden: true },
  { name: "Tokens", key: format.tokens, cell: (it) => format.short(format.tokens(it)), number: true },
  { name: "Cost", key: (it) => it.cost, cell: (it) => format.money(it.cost), number: true },
];

/** One line: the name, and what else tells the episode from others. */
function episodeCell(it) {
  const more = [it.group, it.parts_off?.length > 0 && `without ${it.parts_off.join(", ")}`, it.note].filter(Boolean);
  return h("div", { class: "one-line", title: [it.name && it.id, format.moment(it.started), ...more].filter(Boolean).join(" · ") },
    h("a", { href: ofEpisode(it.id), class: "episode-link", "data-focus": `open ${it.id}` }, shortName(format.named(it))),
    tagList(it.tags?.filter((tag) => tag !== ARCHIVED)), more.length > 0 && h("span", { class: "fine note" }, bdi(more.join(" · "))));
}

/** A value that leads to the episodes that share it. */
const only = (field, value) => h("a", { class: "only", href: ofIndex({ filter: `${field}:"${String(value).replaceAll('"', "")}"` }), title: `Only ${value}` }, bdi(value));

/** A start that failed: nothing was played. */
const isFailedStart = (it) => !it.turns && !it.running;
const isArchived = (it) => Boolean(it.tags?.includes(ARCHIVED));

function endCell(it) {
  const kind = it.running ? "live" : it.end_reason ?? "interrupted";
  const end = only("end", format.ending(it));
  end.classList.add("end");
  end.dataset.kind = kind;
  return end;
}

export class IndexPage {
  #sort = { column: COLUMNS[0], down: true };
  #chosen = new Set();
  #latest = null; // what was chosen last
  #hidden = new Set(kept("columns", COLUMNS.filter((it) => it.hidden).map((it) => it.name)));
  #folded = { // what is there, but not shown unless somebody asks
    start: { shown: false, is: isFailedStart, said: (count) => format.plural(count, "failed start") },
    archived: { shown: false, is: isArchived, said: (count) => format.plural(count, "archived episode") },
  };
  #deleted = new Map(); // id -> its row; they are there until the page is left

  constructor(address, { main, heading, links }) {
    Object.assign(this, { asked: address.filter, main, heading, links });
  }

  async open() {
    this.index = await readPartOfIndex();
    if (this.closed) return;
    document.title = "Episodes · ZorkGPT";
    fill(this.heading, h("span", { class: "folder" }, bdi(this.index.workdir_name ?? "")));
    this.left = () => this.#deleteNow();
    addEventListener("pagehide", this.left);
    if (this.index.episodes.length) this.#build();
    else this.#showEmpty();
    this.#refreshLater();
  }

  close() {
    clearTimeout(this.timer);
    removeEventListener("pagehide", this.left);
    this.#deleteNow();
    this.closed = true;
  }

  key(event) {
    if (event.key !== "/" || !this.filter) return false;
    this.filter.focus();
    return true;
  }

  /** Another filter needs no new page. */
  accept(address) {
    if (address.page !== "index" || !this.index) return false;
    this.asked = address.filter;
    if (!this.filter) return true;
    this.filter.value = this.asked;
    this.#fillTable();
    return true;
  }

  /** What can be downloaded: the rows that the filter leaves. */
  get table() {
    return this.filter && { name: "episodes", what: () => `The ${format.plural(this.#shown().length, "episode")} in the list, one in each row, notes and tags included.`, rows: () => this.#shown() };
  }

  #refreshLater(answered = true) {
    if (MODE !== "live" || this.closed) return;
    const waiting = !this.index.episodes.length || this.index.episodes.some((it) => it.running);
    const more = answered && this.index.unread > 0;
    this.timer = setTimeout(() => this.#refresh(), more ? 0 : waiting ? REFRESH : REFRESH_IDLE);
  }

  async #refresh() {
    const first = !this.index.episodes.length;
    const index = document.hidden && !this.index.unread ? null : await readPartOfIndex().catch(() => null);
    if (this.closed) return;
    if (index && JSON.stringify(index) !== JSON.stringify(this.index)) {
      this.index = index;
      if (first && index.episodes.length) this.#build();
      else if (index.episodes.length) this.#fillTable();
    }
    this.#refreshLater(Boolean(index));
  }

  #showEmpty() {
    fill(this.main, h("section", { class: "empty" },
      h("h1", {}, "Nothing has been played here yet"),
      h("p", {}, "Episodes appear here when they begin. To play the bundled story and watch it:"),
      h("pre", {}, "uv run python main.py --story bundled --watch")));
  }

  #build() {
    this.field = new FilterField((text) => this.#ask(text));
    this.filter = this.field.input;
    this.filter.value = this.asked;
    this.compare = h("button", { type: "button", disabled: true, onclick: () => (location.hash = ofComparison([...this.#chosen])) }, "Compare");
    this.count = h("span", { class: "fine count", id: "count", role: "status" });
    this.folds = h("span", { class: "fine" });
    this.changing = h("span", { class: "changing fine", role: "status" });
    const change = (name, act) => h("button", { type: "button", disabled: true, onclick: act }, name);
    this.changes = MODE === "live" && hasToken() ? [change("Rename", () => this.#rename()), change("Archive", () => this.#archive()), change("Delete", () => this.#delete())] : [];
    this.columns = h("details", { class: "columns" }, h("summary", {}, "Columns"), h("div", {}, COLUMNS.slice(1).map((it) => this.#columnBox(it))));
    this.body = h("tbody", { role: "rowgroup" });
    this.groups = h("section", { class: "groups", "aria-labelledby": "groups-title" });
    fill(this.main, h("div", { class: "index" },
      h("div", { class: "index-head" }, h("h1", {}, "Episodes"),
        h("div", { class: "tools" }, this.field.nodes, this.compare, this.changes, this.columns)),
      h("p", { class: "counts" }, this.count, " ", this.folds, " ", this.changing),
      h("table", { class: "episodes", role: "table", "aria-label": "Episodes" },
        h("thead", { role: "rowgroup" }, this.#header()), this.body),
      this.groups));
    this.#fillTable();
  }

  #columnBox({ name }) {
    const box = h("input", { type: "checkbox", checked: !this.#hidden.has(name), onchange: () => {
      this.#hidden[box.checked ? "delete" : "add"](name);
      keep("columns", [...this.#hidden]);
      this.#fillTable();
    } });
    return h("label", {}, box, " ", name);
  }

  #header() {
    this.heads = COLUMNS.map((column) => {
      const head = h("th", { role: "columnheader", scope: "col", "data-label": column.name, class: column.number && "number" });
      head.append(column.key ? h("button", { type: "button", onclick: () => this.#sortBy(column) }, column.name) : column.name);
      return head;
    });
    return h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col" }, h("span", { class: "unseen" }, "Compare")), this.heads);
  }

  #sortBy(column) {
    const again = this.#sort.column === column;
    this.#sort = { column, down: again ? !this.#sort.down : Boolean(column.number) };
    this.#fillTable();
  }

  #shown() {
    const { column, down } = this.#sort;
    return this.index.episodes
      .filter((it) => this.fits(it) && !this.#isFolded(it))
      .sort((a, b) => (down ? -1 : 1) * compare(column.key(a), column.key(b)));
  }

  /** Whether an episode is out of sight: folded away, or to be deleted. */
  #isFolded(it) {
    return this.#deleted.has(it.id) || Object.values(this.#folded).some(({ shown, is }) => !shown && is(it));
  }

  #ask(text) {
    this.asked = text;
    history.replaceState(null, "", ofIndex({ filter: text.trim() }));
    this.#fillTable();
  }

  #fillTable() {
    Object.assign(this, this.field.read(this.asked));
    this.links.experiments.href = ofExperiments({ filter: this.asked.trim() });
    this.links.search.href = ofSearch({ filter: this.asked.trim() });
    const shown = this.#shown();
    this.heads.forEach((head, i) => {
      const sorted = COLUMNS[i] === this.#sort.column;
      head.hidden = this.#hidden.has(COLUMNS[i].name);
      if (COLUMNS[i].key) head.setAttribute("aria-sort", sorted ? (this.#sort.down ? "descending" : "ascending") : "none");
    });
    this.most = new Map(); // lines of one story are to be compared by eye
    for (const it of shown) this.most.set(it.story, Math.max(1, this.most.get(it.story) ?? 1, it.best_score));
    keepingFocus(this.body, () => fill(this.body, shown.map((it) => this.#row(it))));
    const all = this.index.episodes.filter((it) => !this.#isFolded(it)).length;
    const folds = Object.entries(this.#folded).map(([name, fold]) => ({ name, fold, count: this.index.episodes.filter((it) => fold.is(it) && !this.#deleted.has(it.id)).length })).filter(({ count }) => count);
    keepingFocus(this.folds, () => fill(this.folds, folds.map(({ name, fold, count }) => [h("button", { type: "button", class: "more", "data-focus": name, onclick: () => { fold.shown = !fold.shown; this.#fillTable(); } }, `${fold.shown ? "Hide" : "Show"} ${fold.said(count)}`), " "])));
    const counted = shown.length === all ? format.plural(all, "episode") : `${shown.length} of ${format.plural(all, "episode")}`;
    const reading = this.index.unread ? ` · Reading logs: ${format.whole(all)} of ${format.whole(all + this.index.unread)} …` : "";
    this.count.textContent = this.wrong || (shown.length ? counted : `No match among ${format.plural(all, "episode")}`) + reading;
    this.count.dataset.wrong = Boolean(this.wrong);
    this.#fillGroups();
  }

  #row(it) {
    const box = h("input", { type: "checkbox", "data-choose": it.id, "data-focus": `choose ${it.id}`, "aria-label": `Compare ${it.id}`, onclick: (event) => this.#choose(it.id, event.target.checked, event.shiftKey) });
    box.checked = this.#chosen.has(it.id);
    return h("tr", { role: "row" }, h("td", { role: "cell", class: "choose" }, box),
      COLUMNS.filter(({ name }) => !this.#hidden.has(name)).map((column) => h("td", { role: "cell", "data-label": column.name, class: column.number && "number" }, column.cell(it, this.most.get(it.story)))));
  }

  /** Choose an episode; with Shift, all from the one that was chosen before. */
  #choose(id, chosen, range) {
    const ids = this.#shown().map((it) => it.id);
    const ends = [ids.indexOf(range ? this.#latest ?? id : id), ids.indexOf(id)].sort((a, b) => a - b);
    this.#latest = id;
    for (const it of ids.slice(ends[0], ends[1] + 1)) {
      this.#chosen.delete(it);
      if (chosen) this.#chosen.add(it);
    }
    if (range) this.#fillTable();
    this.#offer();
  }

  /** What can be done with those that are chosen. */
  #offer() {
    this.compare.disabled = this.#chosen.size < 2;
    this.compare.textContent = this.#chosen.size < 2 ? "Compare" : `Compare ${this.#chosen.size}`;
    for (const button of this.changes) button.disabled = !this.#chosen.size;
    if (!this.changes.length) return;
    this.changes[0].disabled = this.#chosen.size !== 1;
    this.changes[1].textContent = this.#chosen.size && this.#rows().every(isArchived) ? "Unarchive" : "Archive";
  }

  #rows() {
    return this.index.episodes.filter((it) => this.#chosen.has(it.id));
  }

  /** Say what was done or goes on, with a way to change it. */
  #say(...parts) {
    fill(this.changing, parts);
  }

  /** Write what `change` makes of the notes on each of the chosen episodes. */
  async #write(change, told) {
    const rows = this.#rows();
    try {
      for (const it of rows) {
        const { turns: _, ...written } = await writeNote(it.id, { turn: null, note: it.note, tags: it.tags, ...change(it) });
        Object.assign(it, written);
      }
      this.#say(told);
    } catch (error) {
      this.#say(error.message);
    }
    this.#chosen.clear();
    this.#fillTable();
    this.#offer();
  }

  #archive() {
    const all = this.#rows().every(isArchived);
    this.#write((it) => ({ tags: it.tags.filter((tag) => tag !== ARCHIVED).concat(all ? [] : ARCHIVED) }), `${format.plural(this.#chosen.size, "episode")} ${all ? "unarchived" : "archived"}.`);
  }

  #rename() {
    const [it] = this.#rows();
    const input = h("input", { type: "text", maxlength: 80, "aria-label": `Name of ${it.id}`, value: it.name ?? "", placeholder: it.id });
    this.#say(h("form", { onsubmit: (event) => { event.preventDefault(); this.#write(() => ({ name: input.value }), "Renamed."); } }, input, " ", h("button", {}, "Save")));
    input.focus();
  }

  /** Take the chosen episodes out of sight; they are deleted when the page is left. */
  async #delete() {
    const rows = this.#rows().filter((it) => !it.running);
    for (const it of rows) this.#deleted.set(it.id, it);
    this.#chosen.clear();
    this.#fillTable();
    this.#offer();
    const count = this.#deleted.size;
    if (!count) return this.#say("An episode that is being played cannot be deleted.");
    const size = await sizeOf([...this.#deleted.keys()]).catch(() => null);
    const undo = h("button", { type: "button", class: "more" }, "Undo");
    undo.addEventListener("click", () => { this.#deleted.clear(); this.#say(); this.#fillTable(); });
    this.#say(`${format.plural(count, "episode")}${size === null ? "" : ` (${format.bytes(size)})`} will be deleted when you leave this page. `, undo);
  }

  #deleteNow() {
    if (!this.#deleted.size) return;
    deleteEpisodes([...this.#deleted.keys()]).then((kept) => {
      for (const [id, why] of Object.entries(kept)) announce(`${id} could not be deleted. ${why}`);
    }, (error) => announce(`Nothing was deleted. ${error.message}`));
    this.#deleted.clear();
  }

  #fillGroups() {
    const groups = this.index.groups ?? [];
    fill(this.groups, groups.length > 0 && [h("h2", { id: "groups-title" }, "Evaluations"),
      h("table", { class: "sums", role: "table", "aria-labelledby": "groups-title" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ["Evaluation", "Episodes", "Median score", "Quartiles", "Best", "Turns", "Tokens", "Cost"].map((name, i) => h("th", { role: "columnheader", scope: "col", class: i && "number" }, name)))),
        h("tbody", { role: "rowgroup" }, groups.map(groupRow)))]);
  }
}

function groupRow(group) {
  const { median, q1, q3, best } = group.score ?? {};
  const [middle, low, high] = [median, q1, q3].map((it) => (group.score ? format.tenths(it) : format.known(null)));
  const cells = [["Episodes", group.hinted ? `${group.episodes}, ${group.hinted} with hints` : group.episodes], ["Median score", middle], ["Quartiles", group.score ? `${low} – ${high}` : low], ["Best", format.known(best)],
    ["Turns", format.whole(group.turns)], ["Tokens", format.short(group.tokens)], ["Cost", format.money(group.cost)]];
  return h("tr", { role: "row" }, h("th", { role: "rowheader", scope: "row" }, shortName(group.name)),
    cells.map(([label, text]) => h("td", { role: "cell", class: "number", "data-label": label }, text)));
}

const compare = (a, b) =>
  (typeof (a ?? b) === "number" ? (a ?? -Infinity) - (b ?? -Infinity) || 0 : String(a).localeCompare(String(b)));
