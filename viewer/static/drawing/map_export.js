// The map as a drawing to take away: SVG as a file, and on paper, which is how browsers make a PDF.

import { svg } from "../dom.js";

const MARGIN = 20;
const DASHES = { dashed: "7 4", dotted: "1.5 3" };

/** What is shown of `graph`, as an element. */
export function svgOf(graph, paper) {
  const shown = graph.elements(":visible");
  const { x1, y1, w, h } = shown.boundingBox();
  const drawing = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: [x1 - MARGIN, y1 - MARGIN, w + 2 * MARGIN, h + 2 * MARGIN].join(" "), "font-family": "Literata, Georgia, serif", "text-anchor": "middle" });
  const draw = (name, attributes, text = "") => drawing.appendChild(svg(name, attributes)).append(text);
  const drawBox = (node) => draw("rect", { x: node.position("x") - node.outerWidth() / 2, y: node.position("y") - node.outerHeight() / 2, width: node.outerWidth(), height: node.outerHeight(), rx: node.data("sheet") ? 0 : 6,
    fill: node.style("background-color"), "fill-opacity": node.style("background-opacity"), stroke: node.style("border-color"), "stroke-width": node.style("border-width"), "stroke-dasharray": DASHES[node.style("border-style")] ?? "none" });
  const drawLabel = (element, { x, y }) => {
    const size = parseFloat(element.style("font-size"));
    element.data("label").split("\n").forEach((line, i, { length }) => draw("text", { x, y: y + size * (0.35 + 1.25 * (i - (length - 1) / 2)), "font-size": size, fill: element.style("color"), stroke: element.isEdge() ? paper : "none", "stroke-width": 4, "paint-order": "stroke" }, line));
  };
  draw("rect", { x: x1 - MARGIN, y: y1 - MARGIN, width: w + 2 * MARGIN, height: h + 2 * MARGIN, fill: paper });
  for (const sheet of shown.nodes("[?sheet]")) drawBox(sheet), drawLabel(sheet, { x: sheet.position("x"), y: sheet.position("y") - sheet.outerHeight() / 2 - 12 });
  for (const edge of shown.edges()) {
    const [from, to, stroke, bend] = [edge.sourceEndpoint(), edge.targetEndpoint(), edge.style("line-color"), edge.controlPoints()?.at(-1)];
    draw("path", { d: `M ${from.x} ${from.y} ${bend ? `Q ${bend.x} ${bend.y}` : "L"} ${to.x} ${to.y}`, fill: "none", stroke, "stroke-width": edge.style("width"), "stroke-dasharray": DASHES[edge.style("line-style")] ?? "none" });
    const turned = (Math.atan2(to.y - (bend ?? from).y, to.x - (bend ?? from).x) * 180) / Math.PI;
    if (edge.style("target-arrow-shape") !== "none") draw("path", { d: "M 0 0 L -8 -4 L -8 4 Z", fill: stroke, transform: `translate(${to.x} ${to.y}) rotate(${turned})` });
    if (edge.data("label")) drawLabel(edge, edge.midpoint());
  }
  for (const node of shown.nodes("[?room], [?stub]")) drawBox(node);
  for (const room of shown.nodes("[?room]")) drawLabel(room, room.position());
  return drawing;
}

/** Print nothing but the drawing. */
export function print(drawing) {
  drawing.classList.add("printed");
  document.body.append(drawing);
  addEventListener("afterprint", () => drawing.remove(), { once: true });
  globalThis.print();
}
