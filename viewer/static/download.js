// Tables to take away, as CSV or as JSON lines.

const FORMULA = /^[=+\-@\t\r]/; // spreadsheets would calculate it

export const jsonl = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

/** A table of what is not nested: lists are joined, the rest is left to JSON lines. */
export function csv(rows) {
  const isFlat = (value) => typeof value !== "object" || value === null || (Array.isArray(value) && value.every((it) => typeof it === "string"));
  const names = [...new Set(rows.flatMap((row) => Object.keys(row).filter((name) => isFlat(row[name]))))];
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function cell(value) {
  if (value === null || value === undefined || !isText(value)) return String(value ?? "");
  const text = Array.isArray(value) ? value.join("; ") : value;
  return `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

const isText = (value) => typeof value === "string" || Array.isArray(value);

/** Have the browser save a text or a blob as a file. */
export function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A turn in a row of its own: facts by themselves, what the player was told by a person, and what was written about it. */
export function turnRow(turn, { note = "", tags = [] } = {}, hints = []) {
  const { place, after, usage, refused, tools, ...rest } = turn;
  return { ...rest, ...usage, room: place?.name ?? null, score: after.score, moves: after.moves, refused_commands: refused.map((it) => it.command),
    tool_calls: tools.length, hints: hints.filter((it) => it.turn === turn.turn).map((it) => it.text), note, tags, place, after, refused, tools };
}
