// Experiments: means over seeds, with intervals, by model, variant or seed.

import { ofExperiments, ofIndex } from "../address.js";
import { readCurves, readIndex } from "../data.js";
import { MODE } from "../server.js";
import { bdi, fill, h, shortName } from "../dom.js";
import { FilterField } from "../filter_field.js";
import * as format from "../format.js";
import { LinesChart, linesOf, MOST_LINES, swatch } from "../drawing/lines.js";

const GROUPINGS = [["model", "Model"], ["variant", "Variant"], ["seed", "Seed"]];
const FIGURES = [["score", "Score"], ["share", "Share of the maximum"], ["progress", "Share of the achievements"], ["best_score", "Best score"], ["tokens", "Tokens"], ["cost", "Cost"], ["seconds", "Time"]];
const STEPS = ["score", "share", "progress", "best_score"]; // a value holds until the next
const UNITS = { score: "Score after each turn", share: "Score after each turn, in percent of the story’s maximum", progress: "Achievements earned so far, in percent of those known for the story", best_score: "Highest score so far", tokens: "Tokens used so far", cost: "Dollars spent so far", seconds: "Seconds taken so far" };
const COLUMNS = [["score", "Score", format.tenths], ["share", "Of the maximum", (it) => `${format.tenths(it)} %`], ["progress", "Achievements", (it) => `${format.tenths(it)} %`], ["best_score", "Best score", format.tenths], ["tokens", "Tokens a turn", format.short],
  ["cost", "Cost a turn", format.money], ["seconds", "Time a turn", format.duration]];
const TYPING = 300; // milliseconds after which what was typed is asked for

export class ExperimentsPage {
  #asking = 0;

  constructor(address, { main, heading }) {
    Object.assign(this, { main, heading });
    this.#take(address);
  }

  #take({ filter, by, show }) {
    this.filter = filter;
    this.by = valid(GROUPINGS, by);
    this.figure = valid(FIGURES, show);
  }

  async open() {
    this.episodes = (await readIndex()).episodes;
    if (this.closed) return;
    document.title = "Experiments · ZorkGPT";
    fill(this.heading, h("p", {}, "Experiments"));
    this.field = new FilterField((text) => this.#ask({ filter: text.trim() }, TYPING));
    this.bySelect = select("By", GROUPINGS, (by) => this.#ask({ by }));
    this.figureSelect = select("Show", FIGURES, (show) => this.#ask({ show }));
    this.told = h("p", { class: "fine count", role: "status" });
    this.charts = new Map(); // by story: games have no axis in common
    this.unit = h("p", { class: "fine unit" });
    this.stories = h("div", {});
    fill(this.main, h("div", { class: "compare experiments" },
      h("div", { class: "index-head" }, h("h1", {}, "Experiments"),
        h("div", { class: "tools" }, this.field.nodes, this.bySelect.nodes, this.figureSelect.nodes)),
      this.told, this.unit, this.stories));
    await this.#show();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.#drop();
  }

  #drop() {
    for (const chart of this.charts?.values() ?? []) chart.close();
    this.charts?.clear();
  }

  key(event) {
    if (event.key !== "/" || !this.field) return false;
    this.field.input.focus();
    return true;
  }

  accept(address) {
    if (address.page !== "experiments" || !this.stories) return false;
    this.#take(address);
    this.#show();
    return true;
  }

  #ask(change, wait = 0) {
    this.#take({ filter: this.filter, by: this.by, show: this.figure, ...change });
    history.replaceState(null, "", ofExperiments({ filter: this.filter, by: this.by, show: this.figure }));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#show(), wait);
  }

  async #show() {
    const asking = ++this.#asking;
    this.field.input.value = this.field.input === document.activeElement ? this.field.input.value : this.filter;
    this.bySelect.node.value = this.by;
    this.figureSelect.node.value = this.figure;
    const { fits, wrong } = this.field.read(this.filter);
    if (wrong) return this.#tell(wrong, true);
    const chosen = this.episodes.filter(fits);
    if (!chosen.length) return this.#drawNothing();
    const partly = chosen.length < this.episodes.length;
    try {
      const curves = await readCurves(this.by, this.figure, partly ? chosen.map((it) => it.id) : null);
      if (asking === this.#asking && !this.closed) this.#draw(curves, partly && MODE === "static" ? this.episodes.length : chosen.length, partly);
    } catch (error) {
      if (asking === this.#asking) this.#tell(`The curves could not be loaded. ${error.message}`, true);
    }
  }

  #drawNothing() {
    this.#drop();
    fill(this.stories);
    this.unit.textContent = "";
    this.#tell(this.episodes.length ? `No match among ${format.plural(this.episodes.length, "episode")}` : "There are no episodes yet.");
  }

  #draw({ groups, left_out: leftOut, least_seeds: least, confidence, figure }, count, partly) {
    const stories = Object.groupBy(groups, ({ story }) => story);
    for (const story of this.charts.keys()) if (!stories[story]) this.charts.get(story).close(), this.charts.delete(story);
    fill(this.stories, Object.entries(stories).map(([story, its]) => this.#story(story, its, figure)));
    this.unit.textContent = UNITS[figure];
    const hinted = groups.reduce((sum, it) => sum + it.hinted, 0);
    const level = `${Math.round(100 * confidence)} %`;
    this.#tell([
      `${format.plural(count - leftOut, "episode")} played to the end`,
      leftOut > 0 && `${whole(leftOut)} unfinished left out`,
      hinted > 0 && `${format.plural(hinted, "episode")} with hints by a person, so no figure with them is unaided`,
      groups.some(({ curve }) => banded(curve)) ? `means over seeds; bands and brackets are ${level} intervals` : `means over seeds; a ${level} interval needs at least ${least} seeds that differ`,
      partly && MODE === "static" && "an exported page always shows the curves of all its episodes",
    ].filter(Boolean).join(" · "));
  }

  /** The groups of one story. */
  #story(story, groups, figure) {
    if (!this.charts.has(story)) this.charts.set(story, new LinesChart(`${story}: curves; their last values are in the table below`));
    const chart = this.charts.get(story);
    const numbers = linesOf(groups.map(({ name }) => name));
    const lines = groups.slice(0, MOST_LINES).map(({ name, curve }, i) => ({
      name, number: numbers[i], turns: curve.map(([turn]) => turn), values: curve.map(([, mean]) => mean),
      low: banded(curve) && curve.map(([, mean, low]) => low ?? mean), high: banded(curve) && curve.map(([, mean, , high]) => high ?? mean),
    }));
    queueMicrotask(() => chart.show(lines, STEPS.includes(figure))); // once it is in the page, and has a size
    return h("section", { class: "of-story", "aria-label": story }, h("h2", {}, bdi(story)), chart.whole,
      groups.length > MOST_LINES && h("p", { class: "fine" }, `The chart shows the first ${MOST_LINES} of ${groups.length} groups.`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Figures of ${story}` }, this.#rows(groups, numbers)));
  }

  #rows(groups, numbers) {
    const heads = [GROUPINGS.find(([name]) => name === this.by)[1], "Episodes", "Seeds", ...COLUMNS.map(([, name]) => name)];
    return h("table", { class: "sums" },
      h("thead", {}, h("tr", {}, heads.map((name, i) => h("th", { scope: "col", class: i > 0 && "number" }, name)))),
      h("tbody", {}, groups.map((group, i) => h("tr", {},
        h("th", { scope: "row" }, swatch(numbers[i]), this.by === "model" ? h("a", { href: ofIndex({ filter: `model:"${group.name}"` }) }, shortName(group.name)) : shortName(group.name),
          group.hinted > 0 && h("span", { class: "fine hinted" }, ` ${group.hinted} of ${group.episodes} with hints by a person`)),
        [group.episodes, group.seeds].map((it) => h("td", { class: "number" }, whole(it))),
        COLUMNS.map(([name, , show]) => h("td", { class: "number" }, estimate(group.figures[name], show)))))));
  }

  #tell(text, wrong = false) {
    this.told.textContent = text;
    this.told.dataset.wrong = wrong;
  }
}

const { whole } = format;
const banded = (curve) => curve.some(([, , low]) => low !== null);
const valid = (choices, name) => (choices.some(([it]) => it === name) ? name : choices[0][0]);

function estimate(figures, show) {
  if (!figures) return "–";
  const [mean, low, high] = figures;
  return low === null ? show(mean) : [show(mean), h("span", { class: "fine" }, ` [${show(low)}, ${show(high)}]`)];
}

function select(label, choices, choose) {
  const node = h("select", { onchange: () => choose(node.value) }, choices.map(([value, text]) => h("option", { value }, text)));
  return { node, nodes: h("label", {}, label, " ", node) };
}
