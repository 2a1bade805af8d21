// Two episodes beside each other: their score lines, their sums, and the tree of branches that they belong to.

import { ofEpisode } from "../address.js";
import { readIndex } from "../data.js";
import { bdi, colour, fill, h } from "../dom.js";
import * as format from "../format.js";
import { plotOptions, stepped } from "../drawing/score_chart.js";
import uPlot from "../vendor/uPlot.esm.js";

const ROWS = [
  ["Story", (it) => it.title || it.story], ["Model", (it) => it.model], ["Seed", (it) => it.seed ?? "–"],
  ["Without", (it) => it.parts_off?.join(", ") || "–"], ["Score", format.score], ["Hints by a person", (it) => it.hints || "–"], ["Best score", (it) => format.known(it.best_score)],
  ["Turns", (it) => format.whole(it.turns)], ["End", format.ending], ["Deaths", (it) => format.known(it.deaths)], ["Rooms", (it) => format.known(it.rooms)],
  ["Model calls", (it) => format.whole(it.calls)], ["Tool calls", (it) => format.whole(it.tool_calls)],
  ["Reflections", (it) => it.reflections], ["Tokens", (it) => format.whole(format.tokens(it))],
  ["Cached", (it) => format.cached(it) || "–"], ["Cost", (it) => format.money(it.cost)],
];
const LINES = ["accent", "command"];

export class ComparePage {
  constructor(address, { main, heading }) {
    Object.assign(this, { ids: address.ids, main, heading });
  }

  async open() {
    const { episodes } = await readIndex();
    if (this.closed) return;
    this.both = this.ids.map((id) => episodes.find((it) => it.id === id));
    const missing = this.ids.find((_, i) => !this.both[i]);
    if (missing) throw new Error(`there is no episode ${missing}`);
    document.title = "Comparison · ZorkGPT";
    fill(this.heading, h("p", {}, "Comparison"));
    this.place = h("div", { class: "plot", role: "img", "aria-label": `Scores over turns: ${this.both.map((it) => `${it.id} reached ${format.known(it.score)} in ${it.turns} turns${it.hints ? ` with ${format.hinted(it)}` : ""}`).join("; ")}` });
    fill(this.main, h("div", { class: "compare" }, h("h1", {}, "Two episodes"), this.place, this.#table(), this.#trees(episodes)));
    this.sizes = new ResizeObserver(() => this.#draw());
    this.sizes.observe(this.place);
    this.themed = () => this.#draw();
    addEventListener("themechange", this.themed);
  }

  close() {
    this.closed = true;
    removeEventListener("themechange", this.themed);
    this.sizes?.disconnect();
    this.plot?.destroy();
  }

  #draw() {
    this.plot?.destroy();
    const series = LINES.map((name, i) => ({ stroke: colour(name), width: 2, paths: stepped, points: { show: false }, dash: i ? [8, 4] : undefined }));
    const tables = this.both.map((it) => [[...it.scores.map(([turn]) => turn), it.turns], [...it.scores.map(([, score]) => score), it.score]]).map(rising);
    const { clientWidth: width, clientHeight: height } = this.place;
    this.plot = new uPlot({ ...plotOptions(series), width, height }, uPlot.join(tables, [[0, 0], [0, 0]]), this.place);
    this.place.dataset.lines = this.plot.series.length - 1;
  }

  /** For each family that the two belong to, and that has branches: the tree of it. */
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
      h("thead", {}, h("tr", {}, h("td", {}), this.both.map((it, i) => h("th", { scope: "col" }, h("span", { class: "swatch", "data-line": i }), h("a", { href: ofEpisode(it.id) }, bdi(it.id)))))),
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

/** A plot's columns without a turn that is said twice. */
function rising([turns, scores]) {
  const kept = turns.map((turn, i) => i).filter((i) => turns[i] > (turns[i - 1] ?? -1));
  return [kept.map((i) => turns[i]), kept.map((i) => scores[i])];
}
