// The names of rooms on a map that is seen from afar: of one size at every zoom, and none over another.

import { bdi, clamp, fill, h } from "../dom.js";

const HEIGHT = 15; // pixels of a name
const pen = document.createElement("canvas").getContext("2d");

export class MapNames {
  #due = 0;

  constructor() {
    this.node = h("div", { class: "map-names", "aria-hidden": "true" });
  }

  /** Name as many of `nodes` as there is room for, in the next frame: the present room, junctions and rooms that were visited come first. */
  show(nodes) {
    cancelAnimationFrame(this.#due);
    this.#due = requestAnimationFrame(() => this.#draw(nodes));
  }

  #draw(nodes) {
    pen.font = "12px Literata, Georgia, serif";
    const { clientWidth, clientHeight } = this.node;
    const placed = [];
    const rank = (it) => (it.hasClass("here") ? 100 : 0) + (it.data("visited") ? 10 : 0) + Math.min(9, it.degree());
    for (const node of nodes.toArray().sort((a, b) => rank(b) - rank(a))) {
      const { x, y } = node.renderedPosition();
      if (x < 0 || y < 0 || x > clientWidth || y > clientHeight) continue;
      const width = pen.measureText(node.data("name")).width + 6;
      const away = node.renderedHeight() / 2 + HEIGHT / 2 + 1;
      const spot = [[0, 0], [0, away], [0, -away], [width / 2 + node.renderedWidth() / 2, 0], [-width / 2 - node.renderedWidth() / 2, 0]]
        .map(([right, down]) => ({ node, left: clamp(x + right - width / 2, 0, clientWidth - width), top: y + down - HEIGHT / 2, width }))
        .find((it) => placed.every((other) => it.left + width < other.left || other.left + other.width < it.left || Math.abs(it.top - other.top) >= HEIGHT));
      if (spot) placed.push(spot);
    }
    fill(this.node, placed.map(({ node, left, top }) => {
      const name = bdi(node.data("name"), { class: node.hasClass("here") && "here" });
      name.style.translate = `${left}px ${top}px`; // of a style that the policy allows
      return name;
    }));
  }
}
