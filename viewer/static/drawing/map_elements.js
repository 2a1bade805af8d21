// Rooms and passages as elements of a graph.

import { harmless } from "../text.js";

const COLUMN = 148; // pixels between neighbours in a row
const ROW = 84;
const WRAP = 112; // pixels of a name's line
const LINE = 17;
const LONGEST = 44; // characters of a name on the map
const UNSEEN_IN_A_PLAN = new Map([["up", "up"], ["down", "down"], ["in", "in"], ["out", "out"]]);
const pen = document.createElement("canvas").getContext("2d");

/** The typical distance of a room to its nearest neighbour, in the units of the positions. */
export function spacing(rooms) {
  const nearest = rooms.slice(0, 200).map((room) =>
    Math.min(...rooms.filter((it) => it !== room).map((it) => Math.hypot(it.x - room.x, it.y - room.y)).filter((far) => far > 0)));
  const finite = nearest.filter(Number.isFinite).sort((a, b) => a - b);
  return finite[Math.floor(finite.length / 2)] ?? 1;
}

export function mapElements(map, unit) {
  const known = new Set(map.rooms.map((it) => it.id));
  return [...map.rooms.map((room) => roomElement(room, unit)), ...passageElements(map.passages.filter((it) => it.from !== it.to && known.has(it.from) && known.has(it.to)))];
}

function roomElement(room, unit) {
  const name = harmless(room.name).replaceAll("\n", " ");
  const label = name.length > LONGEST ? `${name.slice(0, LONGEST)} …` : name;
  const lines = lineWidths(label);
  return {
    data: { id: String(room.id), label, first: room.first_turn, width: Math.max(46, ...lines) + 18, height: lines.length * LINE + 13, wrap: WRAP + 6 },
    position: { x: (room.x / unit) * COLUMN, y: (room.y / unit) * ROW },
  };
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
