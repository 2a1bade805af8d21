// The score over turns, with what happened on it.

import { clamp, colour, h } from "../dom.js";
import { before } from "../data.js";
import { hinted, known } from "../format.js";
import { harmless } from "../text.js";
import { plotOptions, stepped } from "./chart.js";
import { lineOf } from "./lines.js";
import uPlot from "../vendor/uPlot.esm.js";

const SHAPES = { damaged: "cross", death: "cross", failure: "cross", victory: "star", reflection: "ring" };
const KINDS = { score: "Score", death: "Death", item: "Item", room: "New room", victory: "Victory", failure: "Failure", reflection: "Reflection", damaged: "Damaged log" };
const REACH = 8; // pixels within which a mark is meant
const APART = 14; // pixels at least between two reflections, which come often

export class ScoreChart {
  #turn = 0;

  constructor(episode, go) {
    this.episode = episode;
    this.go = go;
    this.caption = h("p", { class: "caption" });
    this.place = h("div", { class: "plot" });
    this.node = h("section", { class: "score", "aria-label": "Score over turns" }, this.caption, this.place);
  }

  start() {
    this.sizes = new ResizeObserver(() => this.#resize());
    this.sizes.observe(this.place);
    this.themed = () => this.#draw();
    addEventListener("themechange", this.themed);
    document.fonts.load("12px Literata").then(() => this.plot?.redraw(), () => {});
    this.#draw();
  }

  close() {
    removeEventListener("themechange", this.themed);
    this.sizes?.disconnect();
    this.plot?.destroy();
  }

  show(turn) {
    this.#turn = turn;
    this.#tell(turn);
    this.plot.redraw(false);
  }

  update() {
    this.plot.setData(this.#data());
    this.node.dataset.marks = this.episode.info.marks.length;
  }

  #data() {
    const pairs = [...this.episode.info.scores];
    const last = pairs.at(-1) ?? [-1, null]; // the score is not known
    if (last[0] < this.episode.last) pairs.push([this.episode.last, last[1]]);
    return [pairs.map(([turn]) => turn), pairs.map(([, score]) => score)];
  }

  #draw() {
    this.plot?.destroy();
    const line = lineOf(this.episode.id);
    const accent = colour(line ? `line-${line}` : "accent");
    this.colours = Object.fromEntries(["ink", "sheet", "good", "bad"].map((name) => [name, colour(name)]));
    const series = { stroke: accent, width: 2, fill: colour("wash"), paths: stepped, points: { show: false } };
    const options = plotOptions([series], { hooks: { draw: [(plot) => this.#drawMarks(plot)], setCursor: [(plot) => this.#point(plot)] } });
    options.scales.x.range = () => [0, Math.max(10, this.episode.last)];
    this.plot = new uPlot(options, this.#data(), this.place);
    this.plot.over.addEventListener("click", () => this.plot.cursor.left >= 0 && this.go(this.#nearest(this.plot.cursor.left)));
    this.plot.over.addEventListener("mouseleave", () => this.#tell(this.#turn));
    this.node.dataset.marks = this.episode.info.marks.length;
    this.#resize();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (width && height && this.plot && (this.plot.width !== width || this.plot.height !== height)) this.plot.setSize({ width, height });
  }

  #point(plot) {
    if (plot.cursor.left >= 0) this.#tell(this.#nearest(plot.cursor.left));
  }

  /** The turn meant by a place on the line: that of a mark near it, else the place's own. */
  #nearest(left) {
    const turn = clamp(Math.round(this.plot.posToVal(left, "x")), 0, this.episode.last);
    const far = (mark) => Math.abs(this.plot.valToPos(mark.turn, "x") - left);
    const near = this.episode.info.marks.filter((it) => it.kind !== "room" && far(it) <= REACH).sort((a, b) => far(a) - far(b));
    return near[0]?.turn ?? turn;
  }

  #tell(turn) {
    const marks = this.episode.info.marks.filter((it) => it.turn === turn).map((it) => `${KINDS[it.kind] ?? it.kind}: ${it.text}`);
    this.caption.title = this.caption.textContent = harmless([`Turn ${turn}`, `score ${known(before(this.episode.info.scores, turn)?.[1])}`, ...this.#help(), ...marks].join(" · "));
  }

  /** A score is not shown without saying that the player was helped. */
  #help() {
    const { summary } = this.episode;
    return summary.hints ? [hinted(summary)] : [];
  }

  #drawMarks(plot) {
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.lineWidth = 1.4 * ratio;
    const at = plot.valToPos(this.#turn, "x", true);
    ctx.strokeStyle = this.colours.ink;
    ctx.beginPath();
    ctx.moveTo(at, plot.bbox.top);
    ctx.lineTo(at, plot.bbox.top + plot.bbox.height);
    ctx.stroke();
    let ring = -Infinity;
    for (const mark of this.episode.info.marks) {
      const shape = SHAPES[mark.kind];
      const left = plot.valToPos(mark.turn, "x", true);
      if (!shape || (shape === "ring" && left - ring < APART * ratio)) continue;
      if (shape === "ring") ring = left;
      const score = before(this.episode.info.scores, mark.turn)?.[1] ?? 0;
      drawShape(ctx, this.colours, shape, left, plot.valToPos(score, "y", true), 4.5 * ratio);
    }
    ctx.restore();
  }
}

function drawShape(ctx, colours, shape, x, y, size) {
  ctx.strokeStyle = colours[shape === "cross" ? "bad" : shape === "star" ? "good" : "ink"];
  ctx.fillStyle = colours[shape === "star" ? "good" : "sheet"];
  ctx.beginPath();
  if (shape === "cross") {
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
  } else {
    ctx.arc(x, y, size * (shape === "star" ? 1.2 : 0.8), 0, 2 * Math.PI);
    ctx.fill();
  }
  ctx.stroke();
}
