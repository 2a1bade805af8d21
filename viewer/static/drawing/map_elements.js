// Rooms and passages as elements of a graph.

import { signed } from "../format.js";
import { harmless } from "../text.js";

const COLUMN = 148; // pixels between neighbours in a row
const ROW = 84;
const STUB = 0.42; // of a column or row, from the middle of a room to the end of a way that nobody walked
const LINES = 3; // of a name
const COMPASS = { north: [0, -1], northeast: [1, -1], east: [1, 0], southeast: [1, 1], south: [0, 1], southwest: [-1, 1], west: [-1, 0], northwest: [-1, -1] };
const BACK = new Map(Object.keys(COMPASS).map((it, i, all) => [it, all[(i + 4) % 8]]));
const CLIMBS = { up: "▲", down: "▼" };
const UNSEEN_IN_A_PLAN = ["up", "down", "in", "out"];

/** A name in short lines. */
export function wrapped(name) {
  const lines = harmless(name).match(/\S.{0,14}(?!\S)|\S{1,15}/gu) ?? [""];
  return lines.slice(0, LINES).join("\n") + (lines.length > LINES ? " …" : "");
}

/** Rooms on the ground of their level, where somebody `moved` them to, the lines between those of one level, and exits that nobody walked. */
export function mapElements(map, moved) {
  const sheets = [...Map.groupBy(map.rooms, (it) => it.level)].sort(([a], [b]) => b - a).map(([level, its], tint) => ({
    data: { tint, id: `sheet ${level}`, sheet: true, level, label: `Level ${signed(level)}`, first: Math.min(...its.map((it) => it.first_turn)) },
  }));
  const rooms = new Map(map.rooms.map(({ id, name, level, first_turn: first, visited, x, y }) => [id, {
    data: { id: String(id), room: true, name: wrapped(name).replaceAll("\n", " "), label: wrapped(name), level, first, visited, parent: `sheet ${level}` },
    position: moved[id] ?? { x: x * COLUMN, y: y * ROW },
  }]));
  const stubs = unwalked(map).filter((it) => COMPASS[it.direction] && rooms.has(it.room)).flatMap((it) => stub(it, rooms.get(it.room)));
  const passages = map.passages.filter((it) => it.from !== it.to && rooms.has(it.to) && rooms.get(it.from)?.data.level === rooms.get(it.to).data.level);
  const doors = new Set((map.exits ?? []).filter((it) => it.kind === "door").map((it) => `${it.room} ${it.direction}`));
  return [...sheets, ...rooms.values(), ...stubs, ...passageElements(passages, doors)];
}

/** Exits that were seen, and the turn from which they are known to lead somewhere or nowhere. */
function unwalked(map) {
  const known = [...map.passages.map((it) => [it.from, it.direction, it.first_turn]), ...map.passages.map((it) => [it.to, BACK.get(it.direction), it.first_turn]), ...map.blocked.map((it) => [it.room, it.direction, it.turn])];
  const gone = new Map(known.sort((a, b) => b[2] - a[2]).map(([room, direction, turn]) => [`${room} ${direction}`, turn]));
  return (map.exits ?? []).map((it) => ({ ...it, gone: gone.get(`${it.room} ${it.direction}`) ?? Infinity })).filter((it) => it.gone > it.first_turn);
}

function stub({ room, direction, first_turn: first, gone }, { data: { level, parent }, position: { x, y } }) {
  const [across, down] = COMPASS[direction];
  const id = `stub ${room} ${direction}`;
  return [{ data: { id, stub: true, first, gone, level, parent }, position: { x: x + across * STUB * COLUMN, y: y + down * STUB * ROW } },
    { data: { id: `${id} line`, stub: true, first, gone, level, source: String(room), target: id, both: true, label: "" } }];
}

/** The ways to other levels that were known after `turn`, in words, as pairs of room and text, by room. */
export function waysToOtherLevels(map, turn) {
  const rooms = new Map(map.rooms.map((it) => [it.id, it]));
  const rise = (it) => (rooms.get(it.to)?.level ?? NaN) - (rooms.get(it.from)?.level ?? NaN);
  const away = map.passages.filter((it) => it.first_turn <= turn && rise(it)).map((it) => [it.from, `${rise(it) > 0 ? "▲" : "▼"} ${wrapped(rooms.get(it.to).name)}`]);
  const unknown = unwalked(map).filter((it) => it.first_turn <= turn && it.gone > turn && CLIMBS[it.direction]).map((it) => [it.room, `${CLIMBS[it.direction]} ?`]);
  return Map.groupBy([...away, ...unknown], ([room]) => room);
}

/** One line for a way there and back, an arrow for each other passage. */
function passageElements(passages, doors) {
  const lines = new Map();
  for (const { from, to, direction, first_turn: first, one_way, random } of passages.toSorted((a, b) => a.first_turn - b.first_turn)) {
    const door = doors.has(`${from} ${direction}`) ? "■" : "";
    const back = lines.get(`${to}>${from}`)?.data;
    if (back && !random && !back.random) Object.assign(back, { both: true, door: back.door || door });
    else if (!lines.has(`${from}>${to}`)) lines.set(`${from}>${to}`, { data: { id: `${from}>${to}`, source: String(from), target: String(to), first, one_way, random, door, way: UNSEEN_IN_A_PLAN.includes(direction) ? direction : "", both: false } });
  }
  for (const { data } of lines.values()) data.label = `${data.door} ${data.way}`.trim();
  return [...lines.values()];
}
