// The map: a graph of rooms and passages as far as they were known at the turn shown.

import { ofEpisode } from "../address.js";
import { bare, before } from "../data.js";
import { save } from "../download.js";
import { announce, bdi, clamp, colour, fill, h, icon, keepingFocus } from "../dom.js";
import { plural, signed } from "../format.js";
import { keep, kept } from "../kept.js";
import { mapElements, waysToOtherLevels, wrapped } from "./map_elements.js";
import { print, svgOf } from "./map_export.js";
import { MapNames } from "./map_names.js";
import { KEYS_OF_SIDES, neighbour } from "./map_neighbour.js";
import { harmless } from "../text.js";
import cytoscape from "../vendor/cytoscape.esm.min.js";

cytoscape.warnings(false); // it warns of lines between rooms that overlap; there is nothing to do about them

const TRAIL = 8; // latest steps that are shown as the path
const READABLE = 0.66; // zoom below which names are hard to read, and lie over the map
const DOT = 7; // pixels of a room that is seen from afar
const MARGIN = 28; // pixels around what is shown whole
const CLOSE = 0.8; // zoom at which a room is shown that somebody looks for
const SIGNS = [["both", "there and back"], ["single", "one way so far"], ["random", "at random"], ["stub", "seen, not walked"], ["earlier", "known from earlier episodes"]];

export class MapView {
  #turn = 0;
  #byHand = false;
  #whole = false;
  #bold = 1; // what the width of every line is multiplied by

  /** `filler` is the button by which the map fills the screen. */
  constructor(episode, filler) {
    this.episode = episode;
    this.moved = kept(`map ${episode.id}`, {}); // rooms that somebody dragged elsewhere
    this.canvas = h("div", { class: "canvas", role: "application", tabindex: "0", "aria-describedby": "map-keys",
      onkeydown: (event) => this.#key(event), onmousedown: (event) => event.preventDefault() }); // a click leaves the arrows to the replay
    this.card = h("div", { class: "room-card", "aria-live": "polite", hidden: true });
    this.names = new MapNames();
    this.levels = h("div", { class: "levels", role: "group", "aria-label": "Levels", hidden: true });
    this.rooms = h("select", { "aria-label": "Find a room", onchange: () => this.rooms.value && (this.#goTo(this.rooms.value), this.#describe(Number(this.rooms.value))) });
    this.walk = tool("walk", "Show the whole walk", () => this.#showWhole(!this.#whole), { "aria-pressed": "false" });
    this.path = h("span", {});
    this.node = h("section", { class: "map", "aria-label": "Map" },
      h("div", { class: "map-bar" }, this.levels, h("div", { class: "map-tools" },
        tool("plus", "Zoom in", () => this.#zoom(1.3)), tool("minus", "Zoom out", () => this.#zoom(1 / 1.3)),
        tool("here", "Centre the current room", () => this.#goTo(this.episode.roomAt(this.#turn))), tool("fit", "Show the whole map", () => this.#fit(this.#known())), this.walk,
        filler)),
      h("div", { class: "ground" }, this.canvas, this.names.node, this.card),
      h("div", { class: "map-bar" }, this.rooms,
        h("details", { class: "map-menu", name: "over-map" }, h("summary", {}, "Legend"), h("ul", {}, SIGNS.map(([kind, text]) => h("li", {}, h("i", { class: kind }), text)), h("li", {}, h("i", { class: "path" }), this.path), h("li", {}, "■ a door"), h("li", {}, "◆ things there that were once carried"))),
        h("details", { class: "map-menu", name: "over-map" }, h("summary", {}, "Save"), h("ul", {}, [["SVG", () => this.#save("svg")], ["PNG", () => this.#save("png")], ["PDF, by printing", () => this.#save("pdf")]].map(([name, act]) => h("li", {}, h("button", { type: "button", class: "more", onclick: act }, name)))))),
      h("p", { class: "unseen", id: "map-keys" }, "Arrow keys move from room to room, Enter describes a room, Home returns to the current one."));
    this.#showWhole(false);
  }

  /** Draw; the canvas must be in the page by now. */
  start() {
    this.graph = cytoscape({ container: this.canvas, style: style(1), layout: { name: "preset" }, minZoom: 0.08, maxZoom: 2.5, boxSelectionEnabled: false, autoungrabify: matchMedia("(pointer: coarse)").matches }); // a finger that pans would move rooms
    this.canvas.graph = this.graph; // for those who look into the page from outside
    this.graph.on("tap", "node[?room]", (event) => this.#describe(Number(event.target.id())));
    this.graph.on("tap", (event) => event.target === this.graph && this.#undescribe());
    this.graph.on("dragpan scrollzoom pinchzoom", () => (this.#byHand = true));
    this.graph.on("dragfree", "node[?room]", ({ target }) => this.#move(target.id(), { ...target.position() }));
    this.sizes = new ResizeObserver(() => { this.graph.resize(); this.#frame(); });
    this.sizes.observe(this.canvas);
    this.themed = () => this.graph.style(style(this.#bold));
    this.graph.on("zoom", () => this.#embolden());
    this.graph.on("viewport", () => this.#nameFromAfar());
    addEventListener("themechange", this.themed);
    this.update();
  }

  close() {
    removeEventListener("themechange", this.themed);
    this.sizes?.disconnect();
    this.graph?.destroy();
  }

  /** Keep a room where it was dragged, or put it back. */
  #move(id, position) {
    if (position) this.moved[id] = position;
    else delete this.moved[id];
    keep(`map ${this.episode.id}`, this.moved);
    this.#byHand = true;
    this.update();
  }

  #save(kind) {
    const name = `map-${this.episode.id}`;
    this.graph.style(style(1)); // as from close by, with the names in the rooms
    const picture = kind === "png" && this.graph.png({ full: true, scale: 2, bg: colour("paper"), output: "blob" });
    const drawing = svgOf(this.graph, colour("paper"));
    this.graph.style(style(this.#bold));
    if (picture) save(`${name}.png`, picture, "image/png");
    else if (kind === "svg") save(`${name}.svg`, new XMLSerializer().serializeToString(drawing), "image/svg+xml");
    else print(drawing);
  }

  /** The things that were last seen in a room. */
  #things(id) {
    return before(this.episode.info.map.things?.[id] ?? [], this.#turn)?.[1] ?? [];
  }

  /** Add rooms and passages that were found since. */
  update() {
    this.graph.json({ elements: mapElements(this.episode.info.map, this.moved) });
    this.show(this.#turn);
  }

  /** Show what was known after `turn`, where the player is, and the way there. */
  show(turn) {
    this.#turn = turn;
    const here = this.episode.roomAt(turn);
    const trail = this.#trail(turn);
    this.graph.batch(() => {
      for (const element of this.graph.elements()) element.toggleClass("later", element.data("first") > turn || element.data("gone") <= turn);
      for (const node of this.graph.nodes("[?room]")) node.toggleClass("here", node.id() === String(here)), node.toggleClass("earlier", !node.data("visited"));
      for (const edge of this.graph.edges()) edge.toggleClass("trail", trail.has(`${edge.data("source")} ${edge.data("target")}`) || (edge.data("both") && trail.has(`${edge.data("target")} ${edge.data("source")}`)));
    });
    this.#nameLevels(turn, here);
    this.#describeWhole(here);
    this.#frame();
    this.#nameFromAfar();
  }

  /** Where the names in the rooms cannot be read, others lie over the map. */
  #nameFromAfar() {
    const afar = this.graph.zoom() < READABLE;
    this.canvas.dataset.afar = afar;
    this.names.show(afar ? this.#known() : this.graph.collection());
  }

  /** Under each room's name, where stairs lead; and a button for each level that is known. */
  #nameLevels(turn, here) {
    const { map } = this.episode.info;
    const away = waysToOtherLevels(map, turn);
    this.graph.batch(() => {
      for (const { id, name } of map.rooms) {
        const things = this.#things(id).filter((it) => this.episode.carried.has(bare(it))).length;
        this.graph.getElementById(String(id)).data("label", [wrapped(name) + (things ? ` ◆${things}` : ""), ...new Set(away.get(id)?.map(([, text]) => text))].join("\n"));
      }
    });
    const known = [...new Set(map.rooms.filter((it) => it.first_turn <= turn).map((it) => it.level))].sort((a, b) => b - a);
    const level = map.rooms.find((it) => it.id === here)?.level ?? 0;
    if (this.levelsShown === `${known} ${level}`) return;
    this.levelsShown = `${known} ${level}`;
    this.levels.hidden = known.length < 2;
    keepingFocus(this.levels, () => fill(this.levels, known.map((it) => h("button", { type: "button", "data-focus": `level ${it}`, "aria-current": it === level && "true",
      "aria-label": `Show level ${signed(it)}`, onclick: () => this.#fit(this.#known().filter((node) => node.data("level") === it)) }, signed(it)))));
  }

  /** Widen the lines of a map that is seen from afar, in few steps, for each styles everything anew. */
  #embolden() {
    const bold = Math.SQRT2 ** Math.ceil(2 * Math.log2(Math.max(1, READABLE / this.graph.zoom())));
    if (bold === this.#bold) return;
    this.#bold = bold;
    this.graph.style(style(bold));
  }

  #fit(nodes) {
    this.#byHand = true;
    this.graph.fit(nodes, MARGIN);
    if (this.graph.zoom() > 1.1) this.graph.zoom(1.1), this.graph.center(nodes);
  }

  #trail(turn) {
    const rooms = this.episode.info.path.filter(([at]) => at <= turn).slice(this.#whole ? 0 : -TRAIL - 1).map(([, room]) => room);
    return new Set(rooms.slice(1).map((room, i) => `${rooms[i]} ${room}`));
  }

  /** Say in words what the picture shows. */
  #describeWhole(here) {
    const { map } = this.episode.info;
    const rooms = this.#roomsKnown();
    const passages = map.passages.filter((it) => it.first_turn <= this.#turn);
    const name = harmless(this.episode.rooms.get(here)?.name ?? this.episode.observation(this.#turn)?.room?.name ?? "unknown");
    Object.assign(this.canvas.dataset, { room: here, rooms: rooms.length, passages: passages.length });
    this.canvas.setAttribute("aria-label", `Map of ${plural(rooms.length, "room")} and ${plural(passages.length, "passage")}; current room: ${name}`);
    if (this.listed === `${rooms.length} ${here}`) return;
    this.listed = `${rooms.length} ${here}`;
    const byName = rooms.map((it) => [harmless(it.name), it.id]).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
    fill(this.rooms, h("option", { value: "" }, "Find a room"), byName.map(([name, id]) => h("option", { value: id }, name, id === here && " (here)")));
  }

  /** Show a room's name, visits and passages. */
  #describe(id) {
    const room = this.episode.rooms.get(id);
    if (!room) return;
    const { path, map } = this.episode.info;
    const visits = path.filter(([turn, at]) => at === id && turn <= this.#turn).map(([turn]) => turn);
    const ways = map.passages.filter((it) => it.from === id && it.first_turn <= this.#turn);
    const walls = map.blocked.filter((it) => it.room === id && it.turn <= this.#turn);
    const link = (turn) => h("a", { href: ofEpisode(this.episode.id, turn) }, `turn ${turn}`);
    fill(this.card, h("p", {}, h("b", {}, bdi(room.name)), visits.length > 0 && [` entered ${visits.length === 1 ? "once" : `${visits.length} times`}: first `, link(visits[0]), visits.length > 1 && [", last ", link(visits.at(-1))]]),
      ways.length + walls.length > 0 && h("ul", {}, ways.map((it) => h("li", {}, h("b", {}, it.direction), " ", it.random ? "at random" : bdi(this.episode.rooms.get(it.to)?.name ?? ""))),
        walls.map((it) => h("li", { class: "blocked" }, h("b", {}, it.direction), " ", bdi(it.answer)))),
      this.#things(id).length > 0 && h("p", {}, "Seen there: ", bdi(this.#things(id).join(", "))),
      this.moved[id] && h("button", { type: "button", class: "more", onclick: () => { this.#move(id, null); this.#describe(id); } }, "Put it back where it was"),
      tool("close", "Close", () => this.#undescribe()));
    this.card.hidden = false;
    this.graph.elements().unselect();
    this.graph.getElementById(String(id)).select();
  }

  #undescribe() {
    this.card.hidden = true;
    this.graph.elements().unselect();
  }

  #zoom(factor) {
    this.#byHand = true;
    this.graph.zoom({ level: clamp(this.graph.zoom() * factor, 0.08, 2.5), renderedPosition: { x: this.canvas.clientWidth / 2, y: this.canvas.clientHeight / 2 } });
  }

  /** Mark every step so far, or only the latest ones. */
  #showWhole(whole) {
    this.#whole = whole;
    this.walk.setAttribute("aria-pressed", String(whole));
    this.path.textContent = whole ? "the whole walk" : "latest steps";
    if (!this.graph) return;
    if (whole) this.#fit(this.#known());
    this.show(this.#turn);
  }

  #roomsKnown() {
    return this.episode.info.map.rooms.filter((it) => it.first_turn <= this.#turn);
  }

  /** Centre a room, and mark it. */
  #goTo(id) {
    const room = this.graph.getElementById(String(id));
    this.#byHand = true;
    if (this.graph.zoom() < CLOSE) this.graph.zoom(1);
    this.graph.center(room);
    this.graph.elements().unselect();
    room.select();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const marked = this.graph.nodes(":selected").not(".later");
    const room = marked.nonempty() ? marked : this.graph.nodes(".here");
    const acts = { Home: () => this.#tell(this.graph.nodes(".here")), Enter: () => room.nonempty() && this.#describe(Number(room.id())), Escape: () => this.#undescribe(), "+": () => this.#zoom(1.3), "-": () => this.#zoom(1 / 1.3) };
    const act = KEYS_OF_SIDES[event.key] ? () => this.#tell(neighbour(this.#known("[?room]"), room, KEYS_OF_SIDES[event.key])) : acts[event.key];
    if (!act || (event.key === "Escape" && this.card.hidden)) return; // which leaves the full screen
    event.preventDefault();
    event.stopPropagation(); // elsewhere these keys lead through the replay
    act();
  }

  /** Go to a room, and say where one is. */
  #tell(room) {
    if (!room || room.empty()) return announce("There is no room on that side.");
    this.card.hidden = true;
    this.#goTo(room.id());
    announce(room.data("label").replaceAll("\n", ", "));
  }

  #known(kind = "*") {
    return this.graph.nodes(kind).not(".later");
  }

  /** Show the player's whole level where there is room for it, else the part around the player; after a reader chose what to see, only keep the player in sight. */
  #frame() {
    const here = this.graph.nodes(".here");
    if (this.#byHand || !this.canvas.clientWidth) {
      const [at, { x1, x2, y1, y2 }] = [here.position(), this.graph.extent()];
      if (at && (at.x < x1 || at.x > x2 || at.y < y1 || at.y > y2)) this.graph.center(here);
      return;
    }
    const level = this.#known().filter((it) => here.empty() || it.data("level") === here.data("level"));
    const [box, width, height] = [level.boundingBox(), this.canvas.clientWidth, this.canvas.clientHeight];
    const zoom = clamp(Math.min((width - 2 * MARGIN) / box.w, (height - 2 * MARGIN) / box.h), READABLE, 1.1);
    const middle = (low, high, at, side) => (high - low < side ? (low + high) / 2 : clamp(at ?? low, low + side / 2, high - side / 2));
    const [x, y] = [middle(box.x1, box.x2, here.position("x"), width / zoom), middle(box.y1, box.y2, here.position("y"), height / zoom)];
    this.graph.viewport({ zoom, pan: { x: width / 2 - x * zoom, y: height / 2 - y * zoom } });
  }
}

function tool(name, label, press, more = {}) {
  return h("button", { type: "button", class: "plain", "aria-label": label, title: label, onclick: press, ...more }, icon(name));
}

/** Lines have about the width on the screen that they have at the zoom `READABLE`, however small the map is; rooms whose names would be too small are dots. */
function style(bold) {
  const [ink, soft, line, sheet, accent, mark] = ["ink", "soft", "line", "sheet", "accent", "mark"].map(colour);
  const afar = bold > 1;
  const tints = ["mark", "line-2", "line-3", "line-5", "line-4", "line-6", "line-7", "line-8"].map(colour);
  return [
    { selector: "node", style: { shape: afar ? "ellipse" : "round-rectangle", width: afar ? DOT * bold : "label", height: afar ? DOT * bold : "label", padding: afar ? 0 : 7, "background-color": sheet, "border-width": 1.2 * bold, "border-color": soft, label: "data(label)", "text-opacity": afar ? 0 : 1, color: ink, "font-family": "Literata, Georgia, serif", "font-size": 13, "line-height": 1.25, "text-valign": "center", "text-wrap": "wrap" } },
    { selector: "node[?sheet]", style: { shape: "rectangle", padding: 20, "background-color": (it) => tints[it.data("tint") % tints.length], "background-opacity": 0.1, "border-width": bold, "border-color": line, "text-opacity": 1, "text-valign": "top", "text-margin-y": -4, "font-size": 15 * bold, "font-weight": 600, color: soft, events: "no" } },
    { selector: "node[?stub]", style: { shape: "ellipse", width: 5, height: 5, padding: 0, label: "", opacity: afar ? 0 : 1, "border-width": bold, events: "no" } },
    { selector: "edge", style: { width: 1.6 * bold, "line-color": soft, "curve-style": "bezier", "target-arrow-color": soft, "source-arrow-color": soft, "arrow-scale": 0.9, label: "data(label)", "text-opacity": afar ? 0 : 1, "font-size": 10.5, "font-family": "Literata, Georgia, serif", color: soft, "text-background-color": colour("paper"), "text-background-opacity": afar ? 0 : 1, "text-background-padding": 2 } },
    { selector: "edge[!both]", style: { "target-arrow-shape": "triangle" } },
    { selector: "edge[?stub]", style: { opacity: afar ? 0 : 1, width: 1.1 * bold, "line-style": "dotted", events: "no" } },
    { selector: "edge[?one_way]", style: { "line-style": "dashed", "line-dash-pattern": [7, 4] } },
    { selector: "edge[?random]", style: { "line-style": "dotted", "target-arrow-shape": "circle" } },
    { selector: "edge.trail", style: { width: 3.2 * bold, "line-color": accent, "target-arrow-color": accent, "z-index": 2 } },
    { selector: "node.here", style: { "background-color": mark, "border-color": accent, "border-width": 2.6 * bold } },
    { selector: "node:selected", style: { "border-color": ink, "border-width": 2.6 * bold } },
    { selector: "node.earlier", style: { "border-style": "dashed", "background-opacity": 0.4 } },
    { selector: ".later", style: { display: "none" } },
    { selector: "core", style: { "active-bg-opacity": 0, "selection-box-opacity": 0, "outside-texture-bg-color": line } },
  ];
}
