// One figure of every turn: a bar each, and a dotted line where it is not known.

import { clamp, colour, h } from "../dom.js";
import uPlot from "../vendor/uPlot.esm.js";
import { Chart, figureOptions } from "./chart.js";

const KEYS = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }; // the others lead through the replay everywhere
const APART = 3; // pixels at least between two dotted lines
const bars = uPlot.paths.bars({ size: [0.8, 24, 1] });

export class TurnsChart extends Chart {
  #rows = [];
  #turn = 0;
  #last = 0;

  /** `on` has the functions go(turn), point(turn), null where nothing is pointed at, and tick(value). */
  constructor(label, on) {
    super(h("div", { class: "plot", role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, "aria-valuetext": "Not loaded yet", onkeydown: (event) => this.#key(event) }));
    this.on = on;
  }

  /** Draw [turn, value] of the turns until `turn`, which is told in words; there are `last` turns. */
  show(rows, turn, last, words) {
    Object.entries({ max: last, now: turn, text: words }).forEach(([name, value]) => this.node.setAttribute(`aria-value${name}`, value));
    this.node.dataset.bars = rows.filter(([, value]) => value !== null).length;
    this.node.dataset.unknown = rows.length - this.node.dataset.bars;
    const grown = last !== this.#last;
    this.#rows = rows;
    this.#turn = turn;
    this.#last = last;
    if (grown || !this.plot) this.draw();
    else this.plot.setData(this.#data());
  }

  draw() {
    const [accent, soft, ink] = ["accent", "soft", "ink"].map(colour);
    const series = { stroke: accent, fill: accent, width: 0, paths: bars, points: { show: false } };
    const tick = (value) => (this.node.dataset.bars === "0" ? "" : this.on.tick(value));
    const options = figureOptions([series], tick, { hooks: { drawAxes: [(plot) => this.#drawLines(plot, soft, ink)], setCursor: [(plot) => this.#point(plot)] } });
    options.scales.x.range = () => [0, Math.max(10, this.#last) + 1];
    this.put(options, this.#data());
    this.plot?.over.addEventListener("click", () => this.plot.cursor.left >= 0 && this.on.go(this.#at(this.plot.cursor.left)));
    this.plot?.over.addEventListener("mouseleave", () => this.on.point(null));
  }

  #data() {
    return [this.#rows.map(([turn]) => turn), this.#rows.map(([, value]) => value)];
  }

  #at(left) {
    return clamp(Math.round(this.plot.posToVal(left, "x")), 0, this.#last);
  }

  #point(plot) {
    if (plot.cursor.left >= 0) this.on.point(this.#at(plot.cursor.left));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    this.on.go(clamp(this.#turn + KEYS[event.key], 0, this.#last));
  }

  /** Where a figure is not known, and the turn that is shown. */
  #drawLines(plot, soft, ink) {
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    const line = (turn) => {
      const at = plot.valToPos(turn, "x", true);
      ctx.beginPath();
      ctx.moveTo(at, plot.bbox.top);
      ctx.lineTo(at, plot.bbox.top + plot.bbox.height);
      ctx.stroke();
      return at;
    };
    ctx.save();
    ctx.lineWidth = 1.4 * ratio;
    ctx.strokeStyle = soft;
    ctx.setLineDash([ratio, 4 * ratio]);
    let before = -Infinity;
    for (const [turn, value] of this.#rows) {
      if (value === null && plot.valToPos(turn, "x", true) - before >= APART * ratio) before = line(turn);
    }
    ctx.setLineDash([]);
    ctx.strokeStyle = ink;
    line(this.#turn);
    ctx.restore();
  }
}
