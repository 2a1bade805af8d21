// The map as a drawing to take away: SVG and PNG as files, and on paper, which is how browsers make a PDF.

import { svg } from "../dom.js";
import { LINE, wrapped } from "./map_elements.js";

const MARGIN = 20;
const BASE = 4; // pixels from the middle of a line of text to where its letters stand

/** What is shown of `graph`, as an element. */
export function svgOf(graph, paper) {
  const shown = graph.elements().not(".later");
  const { x1, y1, w, h } = shown.boundingBox();
  const drawing = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: [x1 - MARGIN, y1 - MARGIN, w + 2 * MARGIN, h + 2 * MARGIN].join(" "), "font-family": "Literata, Georgia, serif", "text-anchor": "middle" });
  drawing.append(svg("rect", { x: x1 - MARGIN, y: y1 - MARGIN, width: w + 2 * MARGIN, height: h + 2 * MARGIN, fill: paper }));
  for (const sheet of shown.nodes("[?sheet]")) drawing.append(...box(sheet, 0), ...label(sheet, sheet.position("y") - sheet.height() / 2 - 8, [sheet.data("label")]));
  for (const edge of shown.edges()) drawing.append(...line(edge, paper));
  for (const node of shown.nodes("[?room], [?stub]")) drawing.append(...box(node, node.data("stub") ? 3 : 6));
  for (const node of shown.nodes("[?room]")) drawing.append(...label(node, node.position("y"), node.data("label").split("\n").flatMap(wrapped)));
  return drawing;
}

export const fileOf = (drawing) => new XMLSerializer().serializeToString(drawing);

/** Print nothing but the drawing. */
export function print(drawing) {
  drawing.classList.add("printed");
  document.body.append(drawing);
  addEventListener("afterprint", () => drawing.remove(), { once: true });
  globalThis.print();
}

function box(node, rx) {
  const { x, y } = node.position();
  return [svg("rect", { x: x - node.width() / 2, y: y - node.height() / 2, width: node.width(), height: node.height(), rx,
    fill: node.style("background-color"), "fill-opacity": node.style("background-opacity"), stroke: node.style("border-color"), "stroke-width": node.style("border-width"), "stroke-dasharray": node.style("border-style") === "dashed" ? "4 3" : "none" })];
}

function label(element, y, lines, x = element.position("x")) {
  const size = parseFloat(element.style("font-size"));
  return lines.map((text, i) => {
    const node = svg("text", { x, y: y + BASE + (i - (lines.length - 1) / 2) * Math.min(LINE, size * 1.2), "font-size": size, fill: element.style("color") });
    node.textContent = text;
    return node;
  });
}

function line(edge, paper) {
  const [from, to, stroke] = [edge.sourceEndpoint(), edge.targetEndpoint(), edge.style("line-color")];
  const bends = (edge.controlPoints() ?? []).map(({ x, y }) => `Q ${x} ${y}`);
  const drawn = [svg("path", { d: `M ${from.x} ${from.y} ${bends[0] ?? "L"} ${to.x} ${to.y}`, fill: "none", stroke, "stroke-width": edge.style("width"), "stroke-dasharray": { dashed: "7 4", dotted: "1.5 3" }[edge.style("line-style")] ?? "none" })];
  const before = edge.controlPoints()?.at(-1) ?? from;
  if (edge.style("target-arrow-shape") !== "none") {
    const turned = (Math.atan2(to.y - before.y, to.x - before.x) * 180) / Math.PI;
    drawn.push(svg("path", { d: "M 0 0 L -8 -4 L -8 4 Z", fill: stroke, transform: `translate(${to.x} ${to.y}) rotate(${turned})` }));
  }
  if (edge.data("label")) {
    const { x, y } = edge.midpoint();
    const wide = edge.data("label").length * 6 + 4;
    drawn.push(svg("rect", { x: x - wide / 2, y: y - 7, width: wide, height: 14, fill: paper }), ...label(edge, y, [edge.data("label")], x));
  }
  return drawn;
}
