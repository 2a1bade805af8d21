// The names of rooms on a map that is seen from afar: of one size at every zoom, and none over another.

import { bdi, clamp, fill, h } from "../dom.js";

const HEIGHT = 14; // pixels of a name
const TRIES = 4; // to name every room
const COVERS = 14; // pixels that a name may lie farther off so as not to cover another room
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
    const rank = (it) => (it.hasClass("here") ? 100 : 0) + (it.data("visited") ? 10 : 0) + Math.min(9, it.degree());
    const rooms = nodes.toArray().sort((a, b) => rank(b) - rank(a)).map((node) => {
      const [{ x, y }, across, down] = [node.renderedPosition(), node.renderedWidth() / 2, node.renderedHeight() / 2];
      return { node, x, y, width: pen.measureText(node.data("name")).width + 6, left: x - across, right: x + across, top: y - down, bottom: y + down };
    }).filter(({ x, y }) => x >= 0 && y >= 0 && x <= clientWidth && y <= clientHeight);
    let placed = place(rooms, clientWidth);
    for (let order = rooms, named = placed, tries = 0; placed.length < rooms.length && tries < TRIES; tries++) {
      const isNamed = new Set(named.map((it) => it.room));
      order = [...order.filter((it) => !isNamed.has(it)), ...order.filter((it) => isNamed.has(it))]; // those without room come first
      named = place(order, clientWidth);
      if (named.length === rooms.length) placed = named;
    }
    fill(this.node, placed.map(({ room: { node }, left, top }) => {
      const name = bdi(node.data("name"), { class: node.hasClass("here") && "here" });
      name.style.translate = `${left}px ${top}px`; // of a style that the policy allows
      return name;
    }));
  }
}

/** Where each room's name lies, as near as it can, in the order of `rooms`; those for which there is no place are left out. */
function place(rooms, clientWidth) {
  const placed = [];
  for (const room of rooms) {
    const { x, y, width, right, bottom } = room;
    const [aside, away] = [width / 2 + right - x, bottom - y + HEIGHT / 2 + 1];
    const spots = [0, away, -away, away + HEIGHT, -away - HEIGHT].flatMap((down) => [0, width / 2, -width / 2, aside, -aside].map((across) => {
      const left = clamp(x + across - width / 2, 0, clientWidth - width);
      const top = y + down - HEIGHT / 2;
      const covered = rooms.filter((it) => it !== room && left < it.right && it.left < left + width && top < it.bottom && it.top < top + HEIGHT);
      return { room, left, top, width, cost: Math.hypot(across, down) + COVERS * covered.length };
    }));
    const spot = spots.sort((a, b) => a.cost - b.cost).find((it) => placed.every((other) => it.left + width < other.left || other.left + other.width < it.left || Math.abs(it.top - other.top) >= HEIGHT));
    if (spot) placed.push(spot);
  }
  return placed;
}
