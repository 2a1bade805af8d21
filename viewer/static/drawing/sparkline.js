// A score over turns, small enough for a cell of a table.

import { svg } from "../dom.js";

const WIDTH = 96;
const HEIGHT = 22;

export function sparkline(scores, turns, best, line = "") {
  const across = (turn) => 1 + ((WIDTH - 2) * turn) / Math.max(1, turns);
  const down = (score) => HEIGHT - 2 - ((HEIGHT - 4) * Math.max(0, score)) / Math.max(1, best);
  let path = "";
  for (const [turn, score] of scores) {
    path += path ? `H${across(turn).toFixed(1)}V${down(score).toFixed(1)}` : `M${across(turn)} ${down(score)}`;
  }
  const drawing = svg("svg", { class: "sparkline", "data-line": line, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
  drawing.append(svg("path", { class: "ground", d: `M1 ${HEIGHT - 1.5}H${WIDTH - 1}` }), svg("path", { d: path || "M0 0" }));
  return drawing;
}
