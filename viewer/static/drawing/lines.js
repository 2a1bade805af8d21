// Lines of several episodes or groups in one plot, told apart by colour and by dashes.

import { colour, fill, h, keepingFocus, shortName } from "../dom.js";
import { keep, kept } from "../kept.js";
import { Chart, figureOptions, stepped } from "./chart.js";
import uPlot from "../vendor/uPlot.esm.js";

export const MOST_LINES = 8;
const DASHES = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]];
const MOST_KEPT = 500; // names whose lines are remembered
const VEIL = "22"; // the opacity of a band, in hexadecimal

/** A line of its own for each name, the one that it had before wherever that is free. */
export function linesOf(names) {
  const before = kept("lines", {});
  const wanted = names.slice(0, MOST_LINES).map((name) => before[name]);
  const own = wanted.map((number, i) => (wanted.indexOf(number) === i ? number : undefined));
  const free = Array.from({ length: MOST_LINES }, (_, i) => i + 1).filter((number) => !own.includes(number));
  const found = own.map((number) => number ?? free.shift());
  const now = { ...before, ...Object.fromEntries(found.map((number, i) => [names[i], number])) };
  keep("lines", Object.fromEntries(Object.entries(now).slice(-MOST_KEPT)));
  return found;
}

/** The line that an episode or a group had when it was last drawn beside others. */
export const lineOf = (name) => kept("lines", {})[name];

/** What marks a line in tables: the same stroke. */
export const swatch = (number) => number && h("span", { class: "swatch", "data-line": number, "data-dash": number % DASHES.length });

export class LinesChart extends Chart {
  #lines = [];
  #hidden = new Set();

  constructor(label) {
    super(h("div", { class: "plot", role: "img", "aria-label": label }));
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Lines" });
    this.whole = h("div", {}, this.legend, this.node);
  }

  /** Draw `lines`, each with name, number, turns, values and, where there are intervals, low and high; `steps` where a value holds until the next. */
  show(lines, steps) {
    this.#lines = lines.slice(0, MOST_LINES);
    this.steps = steps;
    keepingFocus(this.legend, () => fill(this.legend, this.#lines.length > 1 && this.#lines.map(({ name, number }) => {
      const box = h("input", { type: "checkbox", checked: !this.#hidden.has(name), "data-focus": name, onchange: () => {
        this.#hidden[box.checked ? "delete" : "add"](name);
        this.draw();
      } });
      return h("label", {}, box, swatch(number), shortName(name));
    })));
    this.draw();
  }

  draw() {
    const lines = this.#lines.filter(({ name }) => !this.#hidden.has(name));
    this.node.dataset.lines = lines.length;
    this.node.dataset.bands = lines.filter((it) => it.low).length;
    if (!lines.length) return this.put();
    const series = [], bands = [], tables = [];
    const paths = this.steps ? stepped : undefined;
    lines.forEach((line) => {
      const stroke = colour(`line-${line.number}`);
      const edge = { stroke: "transparent", width: 0, paths, points: { show: false }, spanGaps: true };
      tables.push([line.turns, line.values, ...(line.low ? [line.low, line.high] : [])]);
      series.push({ stroke, width: 2, paths, points: { show: line.turns.length === 1 }, spanGaps: true, dash: DASHES[(line.number - 1) % DASHES.length] });
      if (!line.low) return;
      series.push(edge, { ...edge });
      bands.push({ series: [series.length, series.length - 1], fill: veiled(stroke) });
    });
    this.put(figureOptions(series, tick, { bands }), uPlot.join(tables, tables.map((table) => table.map(() => 0))));
  }
}

const tick = (it) => (it >= 10_000 ? new Intl.NumberFormat("en", { notation: "compact" }).format(it) : String(Number(it.toPrecision(4))));

function veiled(stroke) {
  const [r, g, b] = stroke.match(/[\d.]+/g).map(Number);
  return `#${[r, g, b].map((it) => Math.round(it).toString(16).padStart(2, "0")).join("")}${VEIL}`;
}
