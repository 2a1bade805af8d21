// What is known of episodes: read from the server or from exported files, chunk by chunk.

import { turnRow } from "./download.js";
import { found } from "./search.js";
import { ask, MODE } from "./server.js";
import { send } from "./token.js";

const MOST_FOUND = 20; // turns of one episode
const AT_ONCE = 50; // episodes that the server is asked to look through

const STARTING = 300; // milliseconds between two looks at a game that is starting

/** Read one JSON document. */
export const read = async (path) => (await ask(path, { cache: "no-cache" })).json();

/** Read what may only be coming: the page of a new game opens before its log does. `waits` is told what goes on. */
async function readWhenBegun(path, waits) {
  for (;;) {
    const reply = await ask(path, { cache: "no-cache" });
    if (reply.status !== 202) return reply.json();
    waits(await reply.text());
    await new Promise((later) => setTimeout(later, STARTING));
  }
}

export const readIndex = () => read("data/episodes.json");

/** The first turns in which `text` stands, and whether there are more, of one or more of the first of these episodes. */
export async function turnsWith(ids, text) {
  if (MODE === "live") return read(`search.json?find=${encodeURIComponent(text)}&episodes=${ids.slice(0, AT_ONCE).map(encodeURIComponent).join(",")}`);
  return [await turnsOf(ids[0], text)];
}

async function turnsOf(id, text) {
  const episode = await Episode.open(id);
  const turns = [];
  for (let number = 0; number <= episode.chunkOf(episode.last) && turns.length <= MOST_FOUND; number++) {
    await episode.load(number);
    turns.push(...episode.turnsIn(number).flatMap((it) => excerpt(it, text) || []));
  }
  return { turns: turns.slice(0, MOST_FOUND), more: turns.length > MOST_FOUND };
}

function excerpt(turn, text) {
  const said = found(turn, text);
  return said && { turn: turn.turn, command: turn.command, excerpt: said };
}

/** A figure's mean over turns, of all episodes or of those, which an exported page cannot choose. */
export function readCurves(by, figure, ids) {
  return read(`curves/${by}/${figure}.json${ids && MODE === "live" ? `?episodes=${ids.map(encodeURIComponent).join(",")}` : ""}`);
}

/** Write a note on an episode or one of its turns; all of its notes come back. */
export const writeNote = async (id, note) => (await send(`${place(id)}/notes`, note)).json();

/** The bytes that episodes take on the disk. */
export const sizeOf = async (ids) => (await read(`size.json?episodes=${ids.map(encodeURIComponent).join(",")}`)).bytes;

/** Delete episodes, also while the page is being left; those that stay come back with why. */
export const deleteEpisodes = async (ids) => (await send("data/delete", { episodes: ids }, { keepalive: true })).json();

/** The turns of two episodes in rows, aligned where they belong together. */
export const readAligned = (one, other) => read(`aligned/${encodeURIComponent(one)}/${encodeURIComponent(other)}.json`);

/** The episodes whose logs were read so far, where there is a server that still reads. */
export const readPartOfIndex = () => (MODE === "live" ? read("data/episodes.json?partial") : readIndex());

/** One episode, its turns read as they are needed. */
export class Episode {
  #reading = new Map(); // chunk -> promise
  #read = new Map(); // chunk -> the newest turn when it was read
  #took = null; // promise

  constructor(id, chunk, info) {
    this.id = id;
    this.chunk = chunk;
    this.turns = new Map();
    this.take(info);
  }

  static async open(id, waits = () => {}) {
    const info = await readWhenBegun(`${place(id)}/episode.json`, waits);
    // The index is long where there are many episodes, so it is asked only when need be.
    return new Episode(info.summary.id, info.chunk ?? (await readIndex()).chunk, info);
  }

  /** Add a newer account of the episode; keep what only the first one says. */
  take(info) {
    // An account may be ahead of the turns, which come one by one.
    const turns = this.summary ? this.last : info.summary.turns;
    this.accounted = info.summary.turns;
    this.#took = null; // attempts that failed may have been added
    this.info = { ...this.info, ...info };
    this.summary = { ...info.summary, turns };
    this.memories = byId(this.info.memories);
    this.claims = byId(this.info.claims);
    this.objectives = byId(this.info.objectives);
    this.rooms = byId(this.info.map.rooms);
    this.carried = new Set(this.info.carried);
  }

  /** The newest turn; 0 before the first one. */
  get last() {
    return this.summary?.turns ?? 0;
  }

  chunkOf(turn) {
    return Math.floor(Math.max(0, turn - 1) / this.chunk);
  }

  /** The turns of one chunk that exist now. */
  turnsIn(number) {
    const first = number * this.chunk + 1;
    const end = Math.min(this.last, first + this.chunk - 1);
    const found = [];
    for (let turn = first; turn <= end; turn++) {
      if (this.turns.has(turn)) found.push(this.turns.get(turn));
    }
    return found;
  }

  /** Whether a chunk's turns are here; those damaged in the log will never be. */
  has(number) {
    const first = number * this.chunk + 1;
    const end = Math.min(this.last, first + this.chunk - 1);
    for (let turn = Math.max(first, (this.#read.get(number) ?? 0) + 1); turn <= end; turn++) {
      if (!this.turns.has(turn)) return false;
    }
    return true;
  }

  /** Read a chunk unless its turns are here; a failed reading may be tried again. */
  load(number) {
    if (this.has(number)) return Promise.resolve();
    if (!this.#reading.has(number)) {
      const reading = this.#readChunk(number).finally(() => this.#reading.delete(number));
      this.#reading.set(number, reading);
    }
    return this.#reading.get(number);
  }

  async #readChunk(number) {
    const { last } = this;
    const turns = await read(`${place(this.id)}/turns/${number}.json`).catch((error) => {
      if (error.status === 404) return []; // none of its turns could be read
      throw error;
    });
    // A chunk may be ahead of the stream, by which alone the episode is seen to go on.
    for (const turn of turns) this.turns.set(turn.turn, turn);
    this.#read.set(number, last);
  }

  async turn(number) {
    if (number > 0) await this.load(this.chunkOf(number));
    return this.turns.get(number) ?? null;
  }

  /** Add a turn that was just played; returns whether it is new. */
  add(turn) {
    this.turns.set(turn.turn, turn);
    if (turn.turn <= this.last) return false;
    this.summary.turns = turn.turn;
    this.#took?.then((rows) => turn.turn > (rows.at(-1)?.[0] ?? 0) && rows.push(tookOf(turn)), () => {});
    if (turn.turn > this.accounted) this.#extend(turn);
    return true;
  }

  /** Until the next account comes, what follows from the turn itself. */
  #extend(turn) {
    const { scores, marks, stops, path, map } = this.info;
    const happened = { score: turn.scored, death: turn.died, refusal: turn.refused.length, failure: turn.failure || turn.tools.some((it) => it.is_error), tool: turn.tools.length };
    for (const kind of Object.keys(happened)) if (happened[kind]) stops[kind].push(turn.turn);
    this.summary.score = turn.after.score;
    this.summary.cost += turn.usage.cost;
    if (turn.after.score !== null && scores.at(-1)?.[1] !== turn.after.score) scores.push([turn.turn, turn.after.score]);
    if (turn.scored) marks.push({ turn: turn.turn, kind: "score", text: `${turn.scored} ${Math.abs(turn.scored) === 1 ? "point" : "points"}` });
    if (turn.died) marks.push({ turn: turn.turn, kind: "death", text: "Death" });
    const room = turn.after.room?.id ?? null;
    const things = room !== null && (map.things[room] ??= []);
    if (things && String(things.at(-1)?.[1] ?? "") !== String(turn.after.visible)) things.push([turn.turn, turn.after.visible]);
    for (const thing of turn.after.inventory ?? []) this.carried.add(bare(thing));
    if (path.at(-1)?.[1] !== room) path.push([turn.turn, room]);
  }

  /** The game's facts after `number`, once its chunk was read. */
  observation(number) {
    return number > 0 ? this.turns.get(number)?.after : this.info.first;
  }

  /** The room after `number`, told without reading any chunk; null where it is not known. */
  roomAt(number) {
    const at = before(this.info.path, number);
    return at ? at[1] : this.info.first.room?.id ?? null;
  }

  /** The whole text of a tool's result that was cut. */
  async toolResult(turn, number) {
    return (await read(`${place(this.id)}/tools/${turn}-${number}.json`)).result;
  }

  /** Every turn in a row of its own. */
  async rows() {
    for (let number = 0; number <= this.chunkOf(this.last); number++) await this.load(number);
    const { turns } = await this.notes();
    return [...this.turns.values()].sort((a, b) => a.turn - b.turn).map((turn) => turnRow(turn, turns[turn.turn], this.info.hints));
  }

  /** What was written about the episode and its turns. */
  notes() {
    return read(`${place(this.id)}/notes.json`);
  }

  /** Write a note; all of them come back. */
  write(note) {
    return writeNote(this.id, note);
  }

  /** [turn, tokens, dollars, seconds] of all that was used until after each turn. */
  spent() {
    return read(`${place(this.id)}/spent.json`);
  }

  /** [turn, tokens in, tokens out, dollars, seconds] of each turn, null where nobody said. */
  took() {
    this.#took ??= read(`${place(this.id)}/took.json`).catch((error) => {
      this.#took = null;
      throw error;
    });
    return this.#took;
  }

  /** How it was set. */
  settings() {
    return read(`${place(this.id)}/settings.json`);
  }

  /** What models were sent in a turn of this episode or another, and what came back. */
  modelCalls(turn, id = this.id) {
    return read(`${place(id)}/calls/${turn}.json`);
  }

  /** Press a button of the game. */
  press(act, text = "") {
    return send(`${place(this.id)}/control`, { act, text });
  }

  /** What can be done once it has ended: commands and what they are for. */
  nextSteps() {
    return read(`${place(this.id)}/next.json`);
  }

  get stream() {
    return `${place(this.id)}/stream?after=${this.last}`;
  }
}

/** The last pair of `pairs`, ordered by turn, at or before `turn`. */
export function before(pairs, turn) {
  let low = 0;
  let high = pairs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pairs[middle][0] <= turn) low = middle + 1;
    else high = middle;
  }
  return pairs[low - 1];
}

const place = (id) => `data/${encodeURIComponent(id)}`;
const tookOf = ({ turn, usage, seconds }) => [turn, ...(usage.prompt_tokens + usage.completion_tokens ? [usage.prompt_tokens, usage.completion_tokens] : [null, null]), usage.cost || null, seconds];
/** A thing's name, without what it is in. */
export const bare = (thing) => thing.split(" (in ")[0];
const byId = (things) => new Map(things.map((thing) => [thing.id, thing]));

/** Whether something learned is held true after `turn`. */
export const heldAt = (thing, turn) => thing.from <= turn && (thing.to === null || thing.to > turn);
