// Words in the texts of turns: what was thought, done and answered, and what tools said.

const AROUND = 70; // characters on each side at most

/** Every text of a turn that its article shows, each on lines of its own; `experiments/search.py` looks through the same. */
function texts(turn) {
  return [
    turn.place?.name, turn.thinking, turn.command, turn.response, turn.advice, turn.failure, turn.new_objective, turn.nav_target,
    ...turn.refused.flatMap((it) => [it.command, it.reason, it.thinking]),
    ...turn.tools.flatMap((it) => [it.name, JSON.stringify(it.arguments), it.result]),
  ].filter(Boolean);
}

/** `wanted`, in letters of either case, with what stands around it in a turn; "" where it does not. */
export function found(turn, wanted) {
  const words = plain(wanted);
  if (!words) return "";
  for (const text of texts(turn)) {
    const at = plain(text).indexOf(words);
    if (at < 0) continue;
    const shown = text.trim().replace(/\s+/g, " ");
    const end = at + words.length;
    const first = at > AROUND ? Math.min(at, shown.indexOf(" ", at - AROUND) + 1 || at) : 0;
    const last = shown.length > end + AROUND ? Math.max(end, shown.lastIndexOf(" ", end + AROUND - 1)) : shown.length;
    return (first ? "… " : "") + shown.slice(first, last) + (shown.length > last ? " …" : "");
  }
  return "";
}

export const plain = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
