// What all plots share.

import { colour } from "../dom.js";
import uPlot from "../vendor/uPlot.esm.js";

const STEPS = [1, 10, 100, 1000, 10_000, 100_000].flatMap((it) => [it, 2 * it, 5 * it]); // whole numbers between two lines

/** Options of a plot of scores. */
export function plotOptions(series, extra = {}) {
  const [soft, line] = ["soft", "line"].map(colour);
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px Literata, Georgia, serif", incrs: STEPS };
  return {
    width: 300, height: 150, legend: { show: false }, padding: [10, 20, 0, 0],
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), Math.max(10, high * 1.08)] } },
    axes: [{ ...axis, grid: { show: false }, size: 24 }, { ...axis, size: 38 }],
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    series: [{}, ...series], ...extra,
  };
}

export const stepped = uPlot.paths.stepped({ align: 1 });

/** Options of a plot of any figure, from 0; `tick` says a value beside the axis. */
export function figureOptions(series, tick, extra = {}) {
  const options = plotOptions(series, extra);
  Object.assign(options.axes[1], { size: 58, incrs: undefined, values: (_, ticks) => ticks.map(tick) });
  options.scales.y.range = (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.08];
  return options;
}

/** A plot that is drawn anew, by the `draw` of what it is, in another size or other colours. */
export class Chart {
  constructor(node) {
    this.node = node;
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(node);
    this.themed = () => this.draw();
    addEventListener("themechange", this.themed);
  }

  close() {
    removeEventListener("themechange", this.themed);
    this.sizes.disconnect();
    this.plot?.destroy();
  }

  /** Put a plot in the place of the present one, or none. */
  put(options = null, data = null) {
    this.plot?.destroy();
    const { clientWidth: width, clientHeight: height } = this.node;
    this.plot = options && width && height ? new uPlot({ ...options, width, height }, data, this.node) : null;
  }
}
