// The map: a graph of rooms and passages as far as they were known at the turn shown.

import { ofEpisode } from "../address.js";
import { before } from "../data.js";
import { save } from "../download.js";
import { announce, bdi, clamp, colour, fill, h, icon, keepingFocus } from "../dom.js";
import { plural } from "../format.js";
import { keep, kept } from "../kept.js";
import { DOOR, LINE, lineWidths, mapElements, signed, THINGS, waysToOtherLevels } from "./map_elements.js";
import { fileOf, print, svgOf } from "./map_export.js";
import { MapNames } from "./map_names.js";
import { KEYS_OF_SIDES, neighbour } from "./map_neighbour.js";
import { RoomSearch } from "./map_search.js";
import { harmless } from "../text.js";
import cytoscape from "../vendor/cytoscape.esm.min.js";

cytoscape.warnings(false); // it warns of lines between rooms that overlap; there is nothing to do about them

const TRAIL = 8; // latest steps that are shown as the path
const READABLE = 0.66; // zoom below which names are hard to read
const SIGNS = [["both", "there and back"], ["single", "one way so far"], ["random", "at random"], ["stub", "seen, not walked"], ["earlier", "known from earlier episodes"]];
const BORDER = 26; // pixels of a level's ground around its rooms
const CLOSE = 0.8; // zoom at which a room is shown that somebody looks for
const AFAR = 0.42; // zoom where a level has no room: names lie over it then

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
    this.list = h("ul", {});
    this.names = new MapNames();
    this.levels = h("div", { class: "levels", role: "group", "aria-label": "Levels", hidden: true });
    this.search = new RoomSearch(() => this.#roomsKnown(), (id) => this.#goTo(id));
    this.walk = tool("walk", "Show the whole walk", () => this.#showWhole(!this.#whole), { "aria-pressed": "false" });
    this.path = h("span", {});
    this.node = h("section", { class: "map", "aria-label": "Map" },
      h("div", { class: "map-bar" }, this.levels, h("div", { class: "map-tools" },
        tool("plus", "Zoom in", () => this.#zoom(1.3)), tool("minus", "Zoom out", () => this.#zoom(1 / 1.3)),
        tool("here", "Centre the current room", () => this.#centre()), tool("fit", "Show the whole map", () => this.#fit(this.#known())), this.walk,
        filler)),
      h("div", { class: "ground" }, this.canvas, this.names.node, this.card),
      h("div", { class: "map-bar" }, this.rooms = h("details", { class: "room-list", name: "over-map" }, h("summary", {}, "Rooms as a list"), this.list), this.search.node,
        h("details", { class: "map-menu", name: "over-map" }, h("summary", {}, "Legend"), h("ul", {}, SIGNS.map(([kind, text]) => h("li", {}, h("i", { class: kind }), text)), h("li", {}, h("i", { class: "path" }), this.path), h("li", {}, `${DOOR} a door`), h("li", {}, `${THINGS} things seen there`))),
        h("details", { class: "map-menu", name: "over-map" }, h("summary", {}, "Save"), h("ul", {}, [["SVG", () => this.#save("svg")], ["PNG", () => this.#save("png")], ["PDF, by printing", () => this.#save("pdf")]].map(([name, act]) => h("li", {}, h("button", { type: "button", class: "more", onclick: act }, name)))))),
      h("p", { class: "unseen", id: "map-keys" }, "Arrow keys go from room to room, Enter describes a room, Home goes to the current one."));
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
    document.fonts.load("13px Literata").then(() => this.update(), () => {}) // names have another width in it;
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
    else if (kind === "svg") save(`${name}.svg`, fileOf(drawing), "image/svg+xml");
    else print(drawing);
  }

  /** The things that were last seen in a room. */
  #things(id) {
    return before(this.episode.info.map.things?.[id] ?? [], this.#turn)?.[1] ?? [];
  }

  /** Add rooms and passages that were found since. */
  update() {
    const { map } = this.episode.info;
    const elements = mapElements(map, this.moved);
    const wanted = new Set(elements.map((it) => it.data.id));
    this.graph.batch(() => {
      this.graph.elements().filter((it) => !wanted.has(it.id())).remove();
      for (const element of elements) {
        const old = this.graph.getElementById(element.data.id);
        if (old.empty()) this.graph.add(element);
        else old.data(element.data), element.position && old.position(element.position);
      }
    });
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
    this.#spreadSheets();
    this.#describeWhole(here);
    this.#frame();
    this.#nameFromAfar();
  }

  /** Where the names in the rooms cannot be read, others lie over the map. */
  #nameFromAfar() {
    const afar = this.graph.zoom() < READABLE;
    this.canvas.dataset.afar = afar;
    this.names.show(afar ? this.#roomsShown() : this.graph.collection());
  }

  /** Under each room's name, where stairs lead; and a button for each level that is known. */
  #nameLevels(turn, here) {
    const { map } = this.episode.info;
    this.graph.batch(() => {
      for (const room of map.rooms) {
        const node = this.graph.getElementById(String(room.id));
        const away = waysToOtherLevels(map, room, turn);
        const things = this.#things(room.id).length;
        node.data({ label: [node.data("name") + (things ? THINGS + things : ""), ...away].join("\n"), height: node.data("own") + away.flatMap(lineWidths).length * LINE });
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

  /** Each level's ground lies below the rooms that are known, and no others. */
  #spreadSheets() {
    this.graph.batch(() => {
      for (const sheet of this.graph.nodes("[?sheet]")) {
        const { x1, x2, y1, y2 } = boxOf(this.#roomsShown().filter((it) => it.data("level") === sheet.data("level")));
        sheet.data({ width: x2 - x1 + 2 * BORDER, height: y2 - y1 + 2 * BORDER });
        sheet.position({ x: (x1 + x2) / 2, y: (y1 + y2) / 2 });
      }
    });
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
    this.graph.fit(nodes, 28);
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
    fill(this.list, rooms.map((it) => h("li", {}, h("button", { type: "button", class: "more", "aria-current": it.id === here && "true", onclick: () => { this.rooms.open = false; this.#describe(it.id); } }, bdi(it.name)))));
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

  #centre() {
    this.#byHand = true;
    this.graph.zoom(1);
    this.graph.center(this.graph.nodes(".here"));
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
    const act = KEYS_OF_SIDES[event.key] ? () => this.#tell(neighbour(this.#roomsShown(), room, KEYS_OF_SIDES[event.key])) : acts[event.key];
    if (!act || (event.key === "Escape" && this.card.hidden)) return; // which leaves the full screen
    event.preventDefault();
    event.stopPropagation(); // elsewhere these keys lead through the replay
    act();
  }

  /** Go to a room, and say where one is. */
  #tell(room) {
    if (!room || room.empty()) return announce("No room lies there.");
    this.card.hidden = true;
    this.#goTo(room.id());
    announce(room.data("label").replaceAll("\n", ", "));
  }

  #roomsShown() {
    return this.graph.nodes("[?room]").not(".later");
  }

  #known() {
    return this.graph.nodes().not(".later");
  }

  /** The player's whole level where there is room for it, else the part around the player. */
  #frame() {
    if (this.#byHand || !this.canvas.clientWidth) return this.#keepInSight();
    const here = this.graph.nodes(".here");
    const level = this.#known().filter((it) => here.empty() || it.data("level") === here.data("level"));
    this.graph.fit(level, 28);
    if (this.graph.zoom() > 1.1) this.graph.zoom(1.1), this.graph.center(level);
    if (this.graph.zoom() < AFAR) this.graph.zoom(AFAR), this.graph.center(this.graph.nodes(".here"));
  }

  #keepInSight() {
    const here = this.graph.nodes(".here");
    if (here.empty() || !this.canvas.clientWidth) return;
    const { x, y } = here.renderedPosition();
    if (x < 0 || y < 0 || x > this.canvas.clientWidth || y > this.canvas.clientHeight) this.graph.center(here);
  }
}

/** The box around nodes, without their names and borders. */
function boxOf(nodes) {
  if (nodes.empty()) return { x1: 0, x2: 0, y1: 0, y2: 0 };
  const side = (axis, size, sign) => sign * Math.max(...nodes.map((it) => sign * it.position(axis) + it.data(size) / 2));
  return { x1: side("x", "width", -1), x2: side("x", "width", 1), y1: side("y", "height", -1), y2: side("y", "height", 1) };
}

function tool(name, label, press, more = {}) {
  return h("button", { type: "button", class: "plain", "aria-label": label, title: label, onclick: press, ...more }, icon(name));
}

/** Lines have about the width on the screen that they have at the zoom `READABLE`, however small the map is; names that are too small are left out. */
function style(bold) {
  const [ink, soft, line, sheet, accent, mark] = ["ink", "soft", "line", "sheet", "accent", "mark"].map(colour);
  const afar = bold > 1;
  const tints = ["mark", "line-2", "line-3", "line-5", "line-4", "line-6", "line-7", "line-8"].map(colour);
  return [
    { selector: "node", style: { shape: "round-rectangle", width: "data(width)", height: "data(height)", "background-color": sheet, "border-width": 1.2 * bold, "border-color": soft, label: afar ? "" : "data(label)", color: ink, "font-family": "Literata, Georgia, serif", "font-size": 13, "text-valign": "center", "text-halign": "center", "text-wrap": "wrap", "text-max-width": "data(wrap)" } },
    { selector: "node[?sheet]", style: { shape: "rectangle", "background-color": (it) => tints[it.data("tint") % tints.length], "background-opacity": 0.1, "border-width": bold, "border-color": line, label: "data(label)", "text-valign": "top", "text-margin-y": -4, "font-size": 15 * bold, "font-weight": 600, color: soft, events: "no", "z-compound-depth": "bottom" } },
    { selector: "node[?stub]", style: { shape: "ellipse", "border-width": bold, events: "no" } },
    { selector: "edge", style: { width: 1.6 * bold, "line-color": soft, "curve-style": "bezier", "target-arrow-color": soft, "source-arrow-color": soft, "arrow-scale": 0.9, label: afar ? "" : "data(label)", "font-size": 10.5, "font-family": "Literata, Georgia, serif", color: soft, "text-background-color": colour("paper"), "text-background-opacity": 1, "text-background-padding": 2 } },
    { selector: "edge[!both]", style: { "target-arrow-shape": "triangle" } },
    { selector: "edge[?stub]", style: { width: 1.1 * bold, "line-style": "dotted", events: "no" } },
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
