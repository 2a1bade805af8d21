// Lines of several episodes or groups in one plot, told apart by colour and by dashes.

import { colour, h } from "../dom.js";
import { Chart, figureOptions, stepped } from "./chart.js";
import uPlot from "../vendor/uPlot.esm.js";

export const MOST_LINES = 8;
const DASHES = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]];
const VEIL = "22"; // the opacity of a band, in hexadecimal

/** What marks a line in tables: the same stroke. */
export const swatch = (number) => h("span", { class: "swatch", "data-line": number, "data-dash": number % DASHES.length });

export class LinesChart extends Chart {
  #lines = [];

  constructor(label) {
    super(h("div", { class: "plot", role: "img", "aria-label": label }));
  }

  /** Draw `lines`, each with turns, values and, where there are intervals, low and high; `steps` where a value holds until the next. */
  show(lines, steps) {
    this.#lines = lines.slice(0, MOST_LINES);
    this.steps = steps;
    this.draw();
  }

  draw() {
    this.node.dataset.lines = this.#lines.length;
    this.node.dataset.bands = this.#lines.filter((it) => it.low).length;
    if (!this.#lines.length) return this.put();
    const series = [], bands = [], tables = [];
    const paths = this.steps ? stepped : undefined;
    this.#lines.forEach((line, i) => {
      const stroke = colour(`line-${i + 1}`);
      const edge = { stroke: "transparent", width: 0, paths, points: { show: false }, spanGaps: true };
      tables.push([line.turns, line.values, ...(line.low ? [line.low, line.high] : [])]);
      series.push({ stroke, width: 2, paths, points: { show: line.turns.length === 1 }, spanGaps: true, dash: DASHES[i % DASHES.length] });
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
