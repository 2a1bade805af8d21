// Rooms and passages as elements of a graph.

import { harmless } from "../text.js";

const COLUMN = 148; // pixels between neighbours in a row
const ROW = 84;
const WRAP = 112; // pixels of a name's line
export const LINE = 17;
export const DOOR = "■";
export const THINGS = " ◆"; // before how many there are
const LONGEST = 44; // characters of a name on the map
const STUB = 13; // pixels from a room to the end of a way that nobody walked
const COMPASS = { north: [0, -1], northeast: [1, -1], east: [1, 0], southeast: [1, 1], south: [0, 1], southwest: [-1, 1], west: [-1, 0], northwest: [-1, -1] };
const BACK = new Map(Object.keys(COMPASS).map((it, i, all) => [it, all[(i + 4) % 8]]));
const CLIMBS = new Map([["up", "▲"], ["down", "▼"]]);
const UNSEEN_IN_A_PLAN = new Map([["up", "up"], ["down", "down"], ["in", "in"], ["out", "out"]]);
const pen = document.createElement("canvas").getContext("2d");

/** Rooms, where somebody `moved` them to, the lines between those of one level, exits that nobody walked, and a ground for each level. */
export function mapElements(map, moved = {}) {
  const rooms = new Map(map.rooms.map((it) => [it.id, it]));
  const drawn = map.passages.filter((it) => it.from !== it.to && rooms.has(it.to) && rooms.get(it.from)?.level === rooms.get(it.to).level);
  const places = map.rooms.map((room) => roomElement(map, room, moved[room.id]));
  const of = new Map(places.map((it) => [it.data.id, it]));
  const stubs = unwalked(map).filter((it) => COMPASS[it.direction] && of.has(String(it.room))).flatMap((it) => stub(it, of.get(String(it.room))));
  return [...sheets(map), ...places, ...stubs.filter((it) => !it.data.source), ...passageElements(drawn, doorsOf(map)), ...stubs.filter((it) => it.data.source)];
}

function sheets(map) {
  const firsts = Map.groupBy(map.rooms, (it) => it.level);
  return [...firsts].sort(([a], [b]) => b - a).map(([level, rooms], tint) => ({
    data: { tint, id: `sheet ${level}`, sheet: true, level, label: `Level ${signed(level)}`, first: Math.min(...rooms.map((it) => it.first_turn)), width: 1, height: 1 },
  }));
}

/** The number of a level as people write it. */
export const signed = (level) => (level > 0 ? `+${level}` : String(level).replace("-", "−"));

/** Exits that were seen, and the turn from which they are known to lead somewhere or nowhere. */
function unwalked(map) {
  const gone = new Map();
  const note = (room, direction, turn) => gone.set(`${room} ${direction}`, Math.min(turn, gone.get(`${room} ${direction}`) ?? Infinity));
  for (const it of map.passages) {
    note(it.from, it.direction, it.first_turn);
    if (BACK.has(it.direction)) note(it.to, BACK.get(it.direction), it.first_turn); // a line is there
  }
  for (const it of map.blocked) note(it.room, it.direction, it.turn);
  return (map.exits ?? []).map((it) => ({ ...it, gone: gone.get(`${it.room} ${it.direction}`) ?? Infinity })).filter((it) => it.gone > it.first_turn);
}

function stub(exit, room) {
  const [across, down] = COMPASS[exit.direction];
  const id = `stub ${exit.room} ${exit.direction}`;
  const when = { stub: true, first: exit.first_turn, gone: exit.gone, level: room.data.level, label: "" };
  const x = room.position.x + across * (room.data.width / 2 + STUB);
  const y = room.position.y + down * (room.data.own / 2 + STUB);
  return [{ data: { id, width: 5, height: 5, wrap: 5, ...when }, position: { x, y } },
    { data: { id: `${id} line`, source: room.data.id, target: id, both: true, ...when } }];
}

/** The ways from a room to other levels that were known after `turn`, in words. */
export function waysToOtherLevels(map, room, turn) {
  const levels = new Map(map.rooms.map((it) => [it.id, it]));
  const away = map.passages.filter((it) => it.from === room.id && it.first_turn <= turn && levels.has(it.to) && levels.get(it.to).level !== room.level);
  const unknown = unwalked(map).filter((it) => it.room === room.id && it.first_turn <= turn && it.gone > turn && CLIMBS.has(it.direction));
  return [...away.map((it) => `${levels.get(it.to).level > room.level ? "▲" : "▼"} ${shortened(levels.get(it.to).name)}`), ...unknown.map((it) => `${CLIMBS.get(it.direction)} ?`)];
}

/** Ways through a door, as "room direction". */
const doorsOf = (map) => new Set((map.exits ?? []).filter((it) => it.kind === "door").map((it) => `${it.room} ${it.direction}`));

function roomElement(map, room, moved) {
  const label = shortened(room.name);
  const lines = lineWidths(map.things?.[room.id] ? label + THINGS + 9 : label);
  const widest = Math.max(46, ...lines, ...waysToOtherLevels(map, room, Infinity).flatMap(lineWidths));
  return {
    data: { id: String(room.id), room: true, name: label, label, level: room.level, first: room.first_turn, visited: room.visited, width: Math.min(COLUMN - 14, widest + 18), own: lines.length * LINE + 13, height: lines.length * LINE + 13, wrap: Math.ceil(widest) + 1 },
    position: moved ?? { x: room.x * COLUMN, y: room.y * ROW },
  };
}

function shortened(text) {
  const name = harmless(text).replaceAll("\n", " ");
  return name.length > LONGEST ? `${name.slice(0, LONGEST)} …` : name;
}

/** The lines into which a text will be wrapped. */
export function wrapped(label) {
  pen.font = "13px Literata, Georgia, serif";
  const lines = [];
  let line = "";
  for (const word of label.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (line && pen.measureText(longer).width > WRAP) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

export const lineWidths = (label) => wrapped(label).map((line) => pen.measureText(line).width);

/** One line for a way there and back, an arrow for each other passage. */
function passageElements(passages, doors) {
  const lines = new Map();
  const hasDoor = (it) => doors.has(`${it.from} ${it.direction}`);
  for (const it of passages) {
    const there = `${it.from}>${it.to}`;
    const back = lines.get(`${it.to}>${it.from}`);
    if (back && !it.random && !back.data.random) {
      back.data.both = true;
      if (hasDoor(it) && !back.data.label.startsWith(DOOR)) back.data.label = `${DOOR} ${back.data.label}`.trim();
      continue;
    }
    const old = lines.get(there);
    if (old) old.data.first = Math.min(old.data.first, it.first_turn);
    else lines.set(there, line(it, there, hasDoor(it)));
  }
  return [...lines.values()];
}

function line(it, id, door) {
  return { data: {
    id, source: String(it.from), target: String(it.to), first: it.first_turn, both: false,
    one_way: it.one_way, random: it.random, label: [door && DOOR, UNSEEN_IN_A_PLAN.get(it.direction)].filter(Boolean).join(" "),
  } };
}
