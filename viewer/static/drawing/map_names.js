// The names of rooms on a map that is seen from afar: of one size at every zoom, and none over another.

import { bdi, clamp, fill, h } from "../dom.js";

const HEIGHT = 14; // pixels of a name
const LEVEL = 70; // pixels across the name of a level
const TRIES = 5; // to name every room
const COVERS = 14; // pixels that a name may lie farther off so as not to cover another room
const pen = document.createElement("canvas").getContext("2d");

export class MapNames {
  #due = 0;
  node = h("div", { class: "map-names", "aria-hidden": "true" });

  /** Name as many of `nodes` as there is room for, in the next frame: the present room, junctions and rooms that were visited come first. */
  show(nodes) {
    cancelAnimationFrame(this.#due);
    this.#due = requestAnimationFrame(() => this.#draw(nodes));
  }

  #draw(nodes) {
    pen.font = "12px Literata, Georgia, serif";
    const { clientWidth, clientHeight } = this.node;
    const rank = (it) => (it.hasClass("here") ? 100 : 0) + (it.data("visited") ? 10 : 0) + Math.min(9, it.degree());
    const rooms = nodes.filter("[?room]").toArray().sort((a, b) => rank(b) - rank(a)).map((node) => {
      const { x1: left, x2: right, y1: top, y2: bottom } = node.renderedBoundingBox({ includeLabels: false });
      return { node, left, right, top, bottom, ...node.renderedPosition(), width: pen.measureText(node.data("name")).width + 6 };
    }).filter(({ x, y }) => x >= 0 && y >= 0 && x <= clientWidth && y <= clientHeight);
    const levels = nodes.filter("[?sheet]").map((it) => ({ left: it.renderedPosition("x") - LEVEL / 2, width: LEVEL, top: it.renderedBoundingBox().y1 }));
    let placed = [];
    for (let order = rooms, tries = 0; placed.length < rooms.length && tries < TRIES; tries++) {
      const named = place(order, clientWidth, levels);
      if (!tries || named.length === rooms.length) placed = named;
      const isNamed = new Set(named.map((it) => it.room));
      order = order.toSorted((a, b) => isNamed.has(a) - isNamed.has(b)); // those without room come first
    }
    fill(this.node, placed.map(({ room: { node }, left, top }) => {
      const name = bdi(node.data("name"), { class: node.hasClass("here") && "here" });
      name.style.translate = `${left}px ${top}px`; // of a style that the policy allows
      return name;
    }));
  }
}

/** Where each room's name lies, as near as it can, in the order of `rooms`; those for which there is no place beside the names of `levels` are left out. */
function place(rooms, clientWidth, levels) {
  const placed = [];
  for (const room of rooms) {
    const { x, y, width, right, bottom } = room;
    const [aside, away] = [width / 2 + right - x, bottom - y + HEIGHT / 2 + 1];
    const spots = [0, away, -away, away + HEIGHT, -away - HEIGHT].flatMap((down) => [0, width / 2, -width / 2, aside, -aside].map((across) => {
      const [left, top] = [clamp(x + across - width / 2, 0, clientWidth - width), y + down - HEIGHT / 2];
      const covered = rooms.filter((it) => left < it.right && it.left < left + width && top < it.bottom && it.top < top + HEIGHT);
      return { room, left, top, width, cost: Math.hypot(across, down) + COVERS * covered.length };
    }));
    const spot = spots.sort((a, b) => a.cost - b.cost).find((it) => [...levels, ...placed].every((other) => it.left + width < other.left || other.left + other.width < it.left || Math.abs(it.top - other.top) >= HEIGHT));
    if (spot) placed.push(spot);
  }
  return placed;
}
