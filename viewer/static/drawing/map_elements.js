// Rooms and passages as elements of a graph.

import { harmless } from "../text.js";

const COLUMN = 148; // pixels between neighbours in a row
const ROW = 84;
const WRAP = 112; // pixels of a name's line
export const LINE = 17;
const LONGEST = 44; // characters of a name on the map
const UNSEEN_IN_A_PLAN = new Map([["up", "up"], ["down", "down"], ["in", "in"], ["out", "out"]]);
const pen = document.createElement("canvas").getContext("2d");

/** Rooms, the lines between those of one level, and the level's names. */
export function mapElements(map) {
  const rooms = new Map(map.rooms.map((it) => [it.id, it]));
  const drawn = map.passages.filter((it) => it.from !== it.to && rooms.has(it.to) && rooms.get(it.from)?.level === rooms.get(it.to).level);
  return [...map.rooms.map((room) => roomElement(room)), ...passageElements(drawn)];
}

/** The ways from a room to other levels that were known after `turn`, in words. */
export function waysToOtherLevels(map, room, turn) {
  const levels = new Map(map.rooms.map((it) => [it.id, it]));
  const away = map.passages.filter((it) => it.from === room.id && it.first_turn <= turn && levels.has(it.to) && levels.get(it.to).level !== room.level);
  return away.map((it) => `${levels.get(it.to).level > room.level ? "▲" : "▼"} ${shortened(levels.get(it.to).name)}`);
}

function roomElement(room) {
  const label = shortened(room.name);
  const lines = lineWidths(label);
  return {
    data: { id: String(room.id), name: label, label, level: room.level, first: room.first_turn, visited: room.visited, width: Math.min(COLUMN - 14, Math.max(46, ...lines) + 18), own: lines.length * LINE + 13, height: lines.length * LINE + 13, wrap: WRAP + 6 },
    position: { x: room.x * COLUMN, y: room.y * ROW },
  };
}

function shortened(text) {
  const name = harmless(text).replaceAll("\n", " ");
  return name.length > LONGEST ? `${name.slice(0, LONGEST)} …` : name;
}

/** The widths of the lines into which a name will be wrapped. */
function lineWidths(label) {
  pen.font = "13px Literata, Georgia, serif";
  const widths = [];
  let line = "";
  for (const word of label.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (line && pen.measureText(longer).width > WRAP) {
      widths.push(pen.measureText(line).width);
      line = word;
    } else line = longer;
  }
  return [...widths, pen.measureText(line).width];
}

/** One line for a way there and back, an arrow for each other passage. */
function passageElements(passages) {
  const lines = new Map();
  for (const it of passages) {
    const there = `${it.from}>${it.to}`;
    const back = lines.get(`${it.to}>${it.from}`);
    if (back && !it.random && !back.data.random) {
      back.data.both = true;
      continue;
    }
    const old = lines.get(there);
    if (old) old.data.first = Math.min(old.data.first, it.first_turn);
    else lines.set(there, line(it, there));
  }
  return [...lines.values()];
}

function line(it, id) {
  return { data: {
    id, source: String(it.from), target: String(it.to), first: it.first_turn, both: false,
    one_way: it.one_way, random: it.random, label: UNSEEN_IN_A_PLAN.get(it.direction) ?? "",
  } };
}
