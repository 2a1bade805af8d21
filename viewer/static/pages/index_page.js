// All episodes: a table to sort, filter and compare, and a sum for each evaluation.

import { ofComparison, ofEpisode, ofExperiments, ofIndex, ofSearch } from "../address.js";
import { readPartOfIndex } from "../data.js";
import { MODE } from "../server.js";
import { bdi, fill, h, keepingFocus } from "../dom.js";
import { FilterField } from "../filter_field.js";
import { tagList } from "../episode/notes.js";
import * as format from "../format.js";
import { sparkline } from "../drawing/sparkline.js";

const REFRESH = 2000; // milliseconds, while an episode runs or none has begun
const REFRESH_IDLE = 5000; // milliseconds, otherwise: another may begin
const COLUMNS = [
  { name: "Episode", key: (it) => it.started ?? "", cell: episodeCell },
  { name: "Story", key: (it) => it.title || it.story, cell: (it) => bdi(it.title || it.story) },
  { name: "Model", key: format.playedBy, cell: (it) => bdi(format.playedBy(it), { class: "model" }) },
  { name: "Seed", key: (it) => it.seed ?? 0, cell: (it) => String(it.seed ?? "–"), number: true },
  { name: "Turns", key: (it) => it.turns, cell: (it) => format.whole(it.turns), number: true },
  { name: "Score", key: (it) => it.score, cell: (it) => [format.score(it), it.hints > 0 && h("span", { class: "fine hinted" }, format.hinted(it))], number: true },
  { name: "Curve", cell: (it, most) => sparkline(it.scores, it.turns, most) },
  { name: "End", key: format.ending, cell: endCell },
  { name: "Tools", key: (it) => it.tool_calls, cell: (it) => format.whole(it.tool_calls), number: true },
  { name: "Tokens", key: format.tokens, cell: (it) => format.short(format.tokens(it)), number: true },
  { name: "Cost", key: (it) => it.cost, cell: (it) => format.money(it.cost), number: true },
];

function episodeCell(it) {
  return [h("a", { href: ofEpisode(it.id), class: "episode-link", "data-focus": `open ${it.id}` }, bdi(it.id)),
    h("span", { class: "fine" }, format.moment(it.started), it.group && [" · ", bdi(it.group)]),
    tagList(it.tags), it.note && h("span", { class: "fine note", title: it.note }, bdi(it.note)),
    it.parts_off?.length > 0 && h("span", { class: "fine" }, `without ${it.parts_off.join(", ")}`)];
}

function endCell(it) {
  const kind = it.running ? "live" : it.end_reason ?? "interrupted";
  return h("span", { class: "end", "data-kind": kind }, format.ending(it));
}

export class IndexPage {
  #sort = { column: COLUMNS[0], down: true };
  #chosen = new Set();

  constructor(address, { main, heading }) {
    this.asked = address.filter;
    this.main = main;
    this.heading = heading;
  }

  async open() {
    this.index = await readPartOfIndex();
    if (this.closed) return;
    document.title = "Episodes · ZorkGPT";
    fill(this.heading, h("span", { class: "folder" }, bdi(this.index.workdir_name ?? "")));
    if (this.index.episodes.length) this.#build();
    else this.#showEmpty();
    this.#refreshLater();
  }

  close() {
    clearTimeout(this.timer);
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
      h("p", {}, "An episode appears as soon as it begins. To play the bundled story with the model you have and watch it:"),
      h("pre", {}, "uv run python main.py --story bundled --watch")));
  }

  #build() {
    this.field = new FilterField((text) => this.#ask(text));
    this.filter = this.field.input;
    this.filter.value = this.asked;
    this.compare = h("button", { type: "button", disabled: true, onclick: () => (location.hash = ofComparison([...this.#chosen])) }, "Compare");
    this.experiments = h("a", { href: ofExperiments({}) }, "Experiments");
    this.search = h("a", { href: ofSearch({}) }, "Search");
    this.count = h("p", { class: "fine count", id: "count", role: "status" });
    this.body = h("tbody", { role: "rowgroup" });
    this.groups = h("section", { class: "groups", "aria-labelledby": "groups-title" });
    fill(this.main, h("div", { class: "index" },
      h("div", { class: "index-head" }, h("h1", {}, "Episodes"),
        h("div", { class: "tools" }, this.field.nodes, this.compare, this.experiments, this.search)),
      this.count,
      h("table", { class: "episodes", role: "table", "aria-label": "Episodes" },
        h("thead", { role: "rowgroup" }, this.#header()), this.body),
      this.groups));
    this.#fillTable();
  }

  #header() {
    this.heads = COLUMNS.map((column) => {
      const head = h("th", { role: "columnheader", scope: "col", class: column.number && "number" });
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
      .filter(this.fits)
      .sort((a, b) => (down ? -1 : 1) * compare(column.key(a), column.key(b)));
  }

  #ask(text) {
    this.asked = text;
    history.replaceState(null, "", ofIndex({ filter: text.trim() }));
    this.#fillTable();
  }

  #fillTable() {
    Object.assign(this, this.field.read(this.asked));
    this.experiments.href = ofExperiments({ filter: this.asked.trim() });
    this.search.href = ofSearch({ filter: this.asked.trim() });
    const shown = this.#shown();
    this.heads.forEach((head, i) => {
      const sorted = COLUMNS[i] === this.#sort.column;
      if (COLUMNS[i].key) head.setAttribute("aria-sort", sorted ? (this.#sort.down ? "descending" : "ascending") : "none");
    });
    this.most = new Map(); // lines of one story are to be compared by eye
    for (const it of shown) this.most.set(it.story, Math.max(1, this.most.get(it.story) ?? 1, it.best_score));
    keepingFocus(this.body, () => fill(this.body, shown.map((it) => this.#row(it))));
    const all = this.index.episodes.length;
    const counted = shown.length === all ? format.plural(all, "episode") : `${shown.length} of ${format.plural(all, "episode")}`;
    const reading = this.index.unread ? ` · Reading logs: ${format.whole(all)} of ${format.whole(all + this.index.unread)} …` : "";
    this.count.textContent = this.wrong || (shown.length ? counted : `No match among ${format.plural(all, "episode")}`) + reading;
    this.count.dataset.wrong = Boolean(this.wrong);
    this.#fillGroups();
  }

  #row(it) {
    const box = h("input", { type: "checkbox", "data-choose": it.id, "data-focus": `choose ${it.id}`, "aria-label": `Compare ${it.id}`, onchange: (event) => this.#choose(it.id, event.target.checked) });
    box.checked = this.#chosen.has(it.id);
    return h("tr", { role: "row" }, h("td", { role: "cell", class: "choose" }, box),
      COLUMNS.map((column) => h("td", { role: "cell", "data-label": column.name, class: column.number && "number" }, column.cell(it, this.most.get(it.story)))));
  }

  #choose(id, chosen) {
    this.#chosen.delete(id);
    if (chosen) this.#chosen.add(id);
    this.compare.disabled = this.#chosen.size < 2;
    this.compare.textContent = this.#chosen.size < 2 ? "Compare" : `Compare ${this.#chosen.size}`;
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
  return h("tr", { role: "row" }, h("th", { role: "rowheader", scope: "row" }, bdi(group.name)),
    cells.map(([label, text]) => h("td", { role: "cell", class: "number", "data-label": label }, text)));
}

const compare = (a, b) =>
  (typeof (a ?? b) === "number" ? (a ?? -Infinity) - (b ?? -Infinity) || 0 : String(a).localeCompare(String(b)));
