// Filters of the index: words, and fields compared, such as `score>10 model:deepseek -end:stalled`.

import { ending, playedBy, tokens } from "./format.js";

const NUMBERS = {
  seed: (it) => it.seed, turns: (it) => it.turns, score: (it) => it.score, max: (it) => it.max_score, best: (it) => it.best_score,
  tools: (it) => it.tool_calls, tokens, cost: (it) => it.cost, deaths: (it) => it.deaths, rooms: (it) => it.rooms, calls: (it) => it.calls, hints: (it) => it.hints,
};
const TEXTS = {
  episode: (it) => `${it.id} ${it.name ?? ""}`, story: (it) => `${it.title ?? ""} ${it.story ?? ""}`, model: playedBy, player: (it) => it.player,
  engine: (it) => it.engine, group: (it) => it.group, end: (it) => `${ending(it)} ${it.end_reason ?? ""}`, without: (it) => (it.parts_off ?? []).join(" "), started: (it) => it.started,
  tag: (it) => [...(it.tags ?? []), ...(it.turn_tags ?? [])].join(", "), note: (it) => it.note,
};
export const FIELDS = [...Object.keys(NUMBERS), ...Object.keys(TEXTS)];
// A sign, a field with a comparison, and a text, which may stand in quotation marks.
const TERM = /\s*(-?)(?:([A-Za-z_]+)(>=|<=|!=|[:=<>]))?(?:"([^"]*)"|([^\s"]*)(?=\s|$))/y;
const COMPARISONS = {
  ":": (a, b) => a === b, "=": (a, b) => a === b, "!=": (a, b) => a !== b,
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
};

/** A function that tells whether an episode fits. Throws an Error that says what is wrong with `text`. */
export function filter(text) {
  const terms = [];
  for (let at = 0; text.slice(at).trim(); at = TERM.lastIndex) {
    TERM.lastIndex = at;
    const found = TERM.exec(text);
    if (!found?.[0].trim()) throw new Error(`A quotation mark is not closed, or is inside a word: ${text.slice(at).trim()}`);
    const [, minus, field, sign, quoted, plain] = found;
    if (!field && !(quoted ?? plain)) continue; // a minus whose word is still to be typed
    const term = field ? compared(field.toLowerCase(), sign, quoted ?? plain) : said(quoted ?? plain);
    terms.push(minus ? (it) => !term(it) : term);
  }
  return (it) => terms.every((term) => term(it));
}

function said(word) {
  const wanted = word.toLowerCase();
  return (it) => described(it).includes(wanted);
}

function compared(field, sign, value) {
  if (!FIELDS.includes(field)) throw new Error(unknown(field, `${field}${sign}${value}`));
  if (!value) throw new Error(`A value is missing after ${field}${sign}`);
  return field in NUMBERS ? number(NUMBERS[field], sign, value, field) : words(TEXTS[field], sign, value.toLowerCase());
}

/** What an episode does not tell is neither more, nor less, nor other than anything. */
function number(fact, sign, value, field) {
  const wanted = Number(value);
  if (Number.isNaN(wanted)) throw new Error(`${field}${sign} needs a number, not “${value}”`);
  return (it) => fact(it) !== null && fact(it) !== undefined && COMPARISONS[sign](fact(it), wanted);
}

/** Texts contain a value or not; only times and the like have an order. */
function words(fact, sign, wanted) {
  const contains = (it) => String(fact(it) ?? "").toLowerCase().includes(wanted);
  if (sign === ":" || sign === "=") return contains;
  if (sign === "!=") return (it) => !contains(it);
  return (it) => COMPARISONS[sign](String(fact(it) ?? "").toLowerCase(), wanted);
}

function unknown(field, term) {
  const near = FIELDS.find((it) => distance(it, field) <= 2);
  const instead = near ? `did you mean ${near}?` : `the fields are ${FIELDS.join(", ")}.`;
  return `There is no field “${field}”: ${instead} For the text itself, write "${term}"`;
}

/** Letters to change, add or take away to come from `a` to `b`. */
function distance(a, b) {
  let row = [...b, ""].map((_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
    row = next;
  }
  return row[b.length];
}

const described = (it) =>
  [it.id, it.name ?? "", it.story, it.title, it.model, it.player, it.engine, it.group, ending(it), `seed ${it.seed}`, ...(it.tags ?? []), ...(it.parts_off ?? []).map((part) => `without ${part}`)].join(" ").toLowerCase();
