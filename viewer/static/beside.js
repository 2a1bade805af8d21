// Turns of several episodes beside each other, and where they first differ.

import { placeName } from "./format.js";

const NAMES = { command: "commands differ", answer: "the game answers differently", room: "the rooms differ", end: "one of them has ended" };

/** In what turns differ; "" where they do not. None for an episode that has no such turn. */
export function difference(turns) {
  if (turns.some((it) => !it)) return turns.some(Boolean) ? "end" : "";
  const differ = (fact) => turns.some((it) => fact(it) !== fact(turns[0]));
  if (differ((it) => it.command)) return "command";
  if (differ((it) => it.after.room?.id ?? placeName(it.after.room))) return "room";
  return differ((it) => it.response) ? "answer" : "";
}

export const differenceName = (kind) => NAMES[kind];

/** The first turn in which the episodes differ, chunk by chunk from the beginning; null where they never do. */
export async function firstDifference(episodes) {
  const last = Math.max(...episodes.map((it) => it.last));
  for (let turn = 1; turn <= last; turn++) {
    const turns = await turnsAt(episodes, turn);
    if (difference(turns)) return turn;
  }
  return null;
}

/** The turns of that number, null where there is none. */
export function turnsAt(episodes, turn) {
  return Promise.all(episodes.map((it) => (turn <= it.last ? it.turns.get(turn) ?? it.turn(turn) : null)));
}
