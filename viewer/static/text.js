// Text from games, models and tools: made harmless to look at, and never too much at once.

const PLAIN = /^[\n\t\x20-\x7e\u00a0-\u024f\u2010-\u2027\u2030-\u205e]*$/;
const ANSI =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const TAG_CHARACTERS = /[\u{e0000}-\u{e007f}]+/gu;
const INVISIBLE = new Map([
  ["\u061c", "ALM"], ["\u200b", "ZWSP"], ["\u200e", "LRM"], ["\u200f", "RLM"],
  ["\u202a", "LRE"], ["\u202b", "RLE"], ["\u202c", "PDF"], ["\u202d", "LRO"], ["\u202e", "RLO"],
  ["\u2060", "WJ"], ["\u2066", "LRI"], ["\u2067", "RLI"], ["\u2068", "FSI"], ["\u2069", "PDI"],
  ["\ufeff", "BOM"],
]);
const MARKS = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

/** `text` without terminal codes; what would act unseen is shown by name. */
export function harmless(text) {
  if (PLAIN.test(text)) return text;
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(ANSI, "")
    .replace(CONTROL, picture)
    .replace(LONE_SURROGATE, "\ufffd")
    .replace(TAG_CHARACTERS, (run) => `⟨${run.length / 2} hidden⟩`)
    .replace(MARKS, (mark) => `⟨${INVISIBLE.get(mark)}⟩`);
}

function picture(character) {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/** Where to cut `text` at about `size`: at the end of a line or a word where one is near. */
export function cutPoint(text, size) {
  if (text.length <= size) return text.length;
  for (const edge of ["\n", " "]) {
    const found = text.lastIndexOf(edge, size);
    if (found > size * 0.8) return found + 1;
  }
  const last = text.charCodeAt(size - 1);
  return last >= 0xd800 && last <= 0xdbff ? size - 1 : size;
}

/** `text` in slices that a browser can lay out one at a time. */
export function* slices(text, size = 20_000) {
  for (let rest = text; rest; ) {
    const end = cutPoint(rest, size);
    yield rest.slice(0, end);
    rest = rest.slice(end);
  }
}
