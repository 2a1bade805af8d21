// Episodes beside each other: their curves, their figures against a baseline, two of them turn by turn, and the tree of branches.

import { ofComparison, ofEpisode } from "../address.js";
import { Episode, readAligned, readIndex } from "../data.js";
import { announce, bdi, clamp, fill, h, shortName } from "../dom.js";
import * as format from "../format.js";
import { LinesChart, linesOf, MOST_LINES, swatch } from "../drawing/lines.js";
import { MODE } from "../server.js";

const aTurn = (figure) => Object.assign((it) => (it.turns && figure(it) ? figure(it) / it.turns : null), { unit: " a turn" }); // longer episodes use more
const ROWS = [ // name, what is shown, and what is better where that can be said: more or less of it
  ["Story", (it) => it.title || it.story], ["Model", format.playedBy], ["Seed", (it) => it.seed ?? "–"],
  ["Without", (it) => it.parts_off?.join(", ") || "–"], ["Score", format.score, 1, (it) => it.score], ["Hints by a person", (it) => it.hints || "–"], ["Best score", (it) => format.known(it.best_score), 1, (it) => it.best_score], ["Achievements", (it) => (it.progress?.length ? `${format.tenths(it.progress.at(-1)[1])} %` : "–"), 1, (it) => it.progress?.at(-1)?.[1]],
  ["Turns", (it) => format.whole(it.turns)], ["End", format.ending], ["Deaths", (it) => format.known(it.deaths), -1, (it) => it.deaths], ["Rooms", (it) => format.known(it.rooms)],
  ["Model calls", (it) => format.whole(it.calls)], ["Tool calls", (it) => format.whole(it.tool_calls)],
  ["Reflections", (it) => it.reflections], ["Tokens", (it) => format.whole(format.tokens(it)), -1, aTurn(format.tokens)],
  ["Cached", (it) => format.cached(it) || "–"], ["Cost", (it) => format.money(it.cost), -1, aTurn((it) => it.cost)], ["Time", (it) => format.duration(it.seconds), -1, aTurn((it) => it.seconds)],
];
const FIGURES = [["score", "Score"], ["tokens", "Tokens used"], ["cost", "Dollars spent"], ["seconds", "Seconds taken"], ["progress", "Share of the achievements"]];
const KINDS = { command: ([one, other]) => `the commands differ, ${typed(one)} and ${typed(other)}`, answer: () => "the game answers differently", room: () => "the rooms differ", one: ([one, other], [name, its]) => `only ${one ? name : its} has ${typed(one ?? other)}` };
const SHORT = { command: "command", answer: "answer", room: "room", one: "one only" };
const SHOWN = 30; // rows beside each other
const BEFORE = 3; // rows above the one that is gone to

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
    this.lines = linesOf(this.ids);
    const isTwice = (it) => this.both.some((other) => other !== it && format.named(other) === format.named(it));
    this.called = this.both.map((it) => (isTwice(it) ? `${it.name} (${it.id})` : format.named(it)));
    const mixed = this.both.some((it) => it.story !== this.both[0].story); // whose scores have no axis in common
    const figures = FIGURES.filter(([name]) => (name === "score" ? !mixed : name !== "progress" || this.both.some((it) => it.progress?.length)));
    this.chart = new LinesChart(`Over turns. Scores: ${this.both.map(reached).join("; ")}`);
    this.figure = h("select", { onchange: () => this.#draw() }, figures.map(([value, name]) => h("option", { value }, name)));
    this.wrong = h("p", { class: "fine", role: "status" });
    this.told = h("span", { role: "status" }, "Aligning the turns …");
    this.names = h("thead", {});
    this.rows = h("tbody", {});
    this.chosen = h("select", { onchange: () => this.#tryToAlign() }, this.both.slice(1).map((_, i) => h("option", { value: i + 1 }, this.called[i + 1])));
    this.onlyChanged = h("input", { type: "checkbox", onchange: () => this.#goTo(this.at, true) });
    const button = (text, press) => h("button", { type: "button", onclick: press }, text);
    this.buttons = [button("First difference", () => this.#goTo(this.first)), button("Next difference", () => this.#goToNext())];
    this.beside = h("section", { class: "beside" }, h("h2", {}, "Side by side"),
      h("div", { class: "tools" }, this.both.length > 2 && h("label", {}, `${this.called[0]} beside `, this.chosen), this.buttons,
        button("Earlier turns", () => this.#goTo(this.at - SHOWN / 2)), button("Later turns", () => this.#goTo(this.at + SHOWN / 2)), h("label", {}, this.onlyChanged, " Only rows that differ")),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Turns side by side" }, h("table", { class: "turns-beside" }, this.names, this.rows)));
    fill(this.main, h("div", { class: "compare" }, h("div", { class: "index-head" }, h("h1", {}, `${NUMBERS[this.both.length] ?? this.both.length} episodes`), h("div", { class: "tools" }, h("label", {}, "Show ", this.figure))),
      h("p", { class: "difference" }, this.told, this.look = h("button", { type: "button", class: "more", hidden: true, onclick: () => this.#goTo(this.first) }, "Show it")), mixed && h("p", { class: "fine" }, "These are episodes of different stories: their scores cannot be compared."), this.chart.whole, this.wrong,
      this.both.length > MOST_LINES && h("p", { class: "fine" }, `The chart shows the first ${MOST_LINES}.`),
      this.#table(), this.beside, this.#trees(episodes)));
    this.episodes = this.both.map((it) => new Episode(it.id, chunk, { summary: it, map: { rooms: [] }, memories: [], claims: [], objectives: [] }));
    await this.#draw();
    await this.#tryToAlign();
  }

  #tryToAlign() {
    return this.#align().catch((error) => fill(this.rows, h("tr", {}, h("td", {}, error.status === 404 && MODE === "static" ? "This copy cannot show these two side by side: run the viewer." : `The turns could not be aligned. ${error.message}`))));
  }

  close() {
    this.closed = true;
    this.chart?.close();
  }

  accept(address) {
    if (address.page !== "compare" || String(address.ids) !== String(this.ids) || !this.aligned) return false;
    this.#goTo(this.aligned.findIndex((row) => turnOf(row) === address.turn));
    return true;
  }

  /** What can be downloaded: the episodes. */
  get table() {
    return this.both && { name: "comparison", what: () => `These ${format.plural(this.both.length, "episode")}, one in each row, notes and tags included.`, rows: () => this.both };
  }

  /** The chosen figure of each episode over its turns: the score, or what was used until then. */
  async #draw() {
    const at = FIGURES.findIndex(([name]) => name === this.figure.value);
    const named = (it, i) => ({ ...it, name: this.called[i], number: this.lines[i] });
    this.wrong.textContent = "";
    if (!at || FIGURES[at][0] === "progress") return this.chart.show(this.both.map(at ? progressLine : scoreLine).map(named), true);
    try {
      const spent = await Promise.all(this.episodes.slice(0, MOST_LINES).map((it) => it.spent()));
      if (FIGURES[at][0] !== this.figure.value) return;
      this.chart.show(spent.map((points) => ({ turns: [0, ...points.map(([turn]) => turn)], values: [0, ...points.map((it) => it[at])] })).map(named), false);
    } catch (error) {
      this.wrong.textContent = `The curves could not be loaded. ${error.message}`;
    }
  }

  /** Two of them turn by turn, aligned again where they have differed. */
  async #align() {
    const [one, other] = [this.both[0], this.both[this.chosen.value]];
    fill(this.rows, h("tr", {}, h("td", {}, "Aligning the turns …")));
    const { rows } = await readAligned(one.id, other.id);
    if (this.closed || other !== this.both[this.chosen.value]) return;
    this.aligned = rows;
    this.first = rows.findIndex(({ kind }) => kind);
    fill(this.names, h("tr", {}, h("th", { scope: "col" }, "Difference"), [0, this.chosen.value].map((i) => h("th", { scope: "col" }, shortName(this.called[i])))));
    const differing = rows.filter(({ kind }) => kind).length;
    this.told.textContent = this.first < 0 ? "The two never differ."
      : `First difference in turn ${turnOf(rows[this.first])}: ${KINDS[rows[this.first].kind](rows[this.first].cells, [0, this.chosen.value].map((i) => this.called[i]))}. ${format.whole(differing)} of ${format.plural(rows.length, "row")} differ.`;
    for (const it of this.buttons) it.disabled = this.first < 0;
    this.look.hidden = this.first < 0;
    const asked = this.turn && rows.findIndex((row) => turnOf(row) === this.turn);
    this.#goTo(asked > 0 ? asked : Math.max(0, this.first), true);
  }

  /** Show the rows around one. */
  #goTo(at, keepsAddress = false) {
    this.at = clamp(at, 0, this.aligned.length - 1);
    if (!keepsAddress) history.replaceState(null, "", ofComparison(this.ids, turnOf(this.aligned[this.at])));
    const wanted = this.aligned.map((row, i) => [row, i]).filter(([row, i]) => row.kind || i === this.at || !this.onlyChanged.checked);
    const from = clamp(wanted.findIndex(([, i]) => i === this.at) - BEFORE, 0, Math.max(0, wanted.length - SHOWN));
    fill(this.rows, wanted.slice(from, from + SHOWN).map(([row, i]) => this.#row(row, i)));
    if (!keepsAddress) this.rows.querySelector("[aria-current]").scrollIntoView({ block: "nearest" });
  }

  /** Go on to the next difference after a row that has none, or else after the run of them. */
  #goToNext() {
    const later = this.aligned.findIndex(({ kind }, i) => i > this.at && kind && !(this.aligned[i - 1].kind && i - 1 > this.at));
    if (later < 0) announce("There is no later difference.");
    else this.#goTo(later);
  }

  /** What is the same in both is told briefly. */
  #row({ kind, cells }, i) {
    return h("tr", { "data-differs": kind || null, "aria-current": i === this.at ? "true" : null }, h("th", { scope: "row" }, kind ? SHORT[kind] : "same"),
      cells.map((it, n) => h("td", {}, it ? [
        h("a", { href: ofEpisode(this.ids[n ? this.chosen.value : 0], it.turn) }, String(it.turn)), h("span", { class: "typed" }, " ", marked(it.command)),
        h("span", { class: "fine" }, ` ${it.room} · score ${format.known(it.score)}`), kind && h("p", {}, marked(it.answer))] : h("span", { class: "fine" }, "–"))));
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

  /** The figures of each, those of the others as better or worse than the baseline's, where they played the same story. */
  #table() {
    const [baseline] = this.both;
    const same = (it) => it !== baseline && it.story === baseline.story;
    const head = (it, i) => h("th", { scope: "col" }, swatch(this.lines[i]), h("a", { href: ofEpisode(it.id), title: it.id }, shortName(this.called[i])), " ",
      i ? h("a", { class: "fine", href: ofComparison([it.id, ...this.ids.filter((id) => id !== it.id)]) }, "make it the baseline") : h("span", { class: "fine" }, "baseline"));
    const rows = ROWS.map(([name, show, good, figure]) => {
      const cells = this.both.map((it) => [String(show(it)), good && same(it) && judged(figure(it), figure(baseline), good, figure.unit)]);
      return h("tr", { "data-same": new Set(cells.map(([text]) => text)).size === 1 }, h("th", { scope: "row" }, name), cells.map(([text, verdict]) => h("td", {}, bdi(text), verdict)));
    });
    const table = h("table", { class: "sums both" }, h("thead", {}, h("tr", {}, h("td", {}), this.both.map(head))), h("tbody", {}, rows));
    const box = h("input", { type: "checkbox", onchange: () => table.toggleAttribute("data-changed-only", box.checked) });
    return [h("label", { class: "fine" }, box, " Only figures that differ"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures" }, table)];
  }
}

/** How much better or worse than the baseline, in words. */
function judged(value, of, good, unit = "") {
  if (value === null || value === undefined || of === null || of === undefined || value === of) return null;
  const better = (value > of) === good > 0;
  const by = of ? ` by ${Math.abs(Math.round((100 * (value - of)) / of))} %` : "";
  if (by === " by 0 %") return null;
  return h("span", { class: "verdict", "data-better": better }, ` ${better ? "better" : "worse"}${by}${unit}`);
}

/** An episode and its branches, each of which leaves `rest`: names may come again, as in evaluations. */
function tree(root, rest, chosen) {
  const branches = [...rest].filter((it) => it.trunk === nameOf(root)).sort((a, b) => a.forked_at - b.forked_at || (a.id < b.id ? -1 : 1));
  branches.forEach((it) => rest.delete(it));
  const link = h("a", { href: ofEpisode(root.id), "aria-current": chosen.includes(root) ? "true" : null }, shortName(format.named(root)));
  const origin = root.trunk ? ` from turn ${format.whole(root.forked_at)}` : "";
  return h("li", {}, link, `${origin}: score ${format.known(root.score)} after ${format.plural(root.turns, "turn")}${root.hints ? `, with ${format.hinted(root)}` : ""}`,
    branches.length > 0 && h("ul", {}, branches.map((it) => tree(it, rest, chosen))));
}

/** What its branches call it: an episode in a folder of an evaluation has the folder's name in its id. */
const nameOf = (episode) => episode.id.split("~").at(-1);

const NUMBERS = { 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight" };
const reached = (it) => `${format.named(it)} reached ${format.known(it.score)} in ${it.turns} turns${it.hints ? ` with ${format.hinted(it)}` : ""}`;
const line = (points, turns, last = points.at(-1)?.[1] ?? null) => rising([[...points.map(([turn]) => turn), turns], [...points.map(([, value]) => value), last]]);
const scoreLine = (it) => line(it.scores, it.turns, it.score);
const progressLine = (it) => line(it.progress ?? [], it.turns);
const turnOf = ({ cells }) => (cells[0] ?? cells[1]).turn;
const typed = ({ command }) => `“${command.map(([text]) => text).join("")}”`;
const marked = (parts) => parts.map(([text, differs]) => (differs ? h("mark", {}, text) : text));

/** A line without a turn that is said twice. */
function rising([turns, scores]) {
  const kept = turns.map((turn, i) => i).filter((i) => turns[i] > (turns[i - 1] ?? -1));
  return { turns: kept.map((i) => turns[i]), values: kept.map((i) => scores[i]) };
}
