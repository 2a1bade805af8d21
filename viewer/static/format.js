// Numbers, times and reasons, in words for people.

const WHOLE = new Intl.NumberFormat("en");
const TENTHS = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const ENDS = {
  victory: "Victory",
  final_death: "Death",
  game_over: "Game over",
  stalled: "Stalled",
  max_turns: "Turn limit",
  llm_unavailable: "No usable answer",
  engine_failed: "Game failed",
  engine_refused: "Game refused commands",
  aborted: "Stopped",
  budget: "Budget spent",
  left: "Player left",
};

export const whole = (number) => WHOLE.format(number ?? 0);
export const tenths = (number) => TENTHS.format(number ?? 0);
export const short = (number) => SHORT.format(number ?? 0).replace("K", "k");
export function bytes(number) {
  const power = Math.min(3, Math.floor(Math.log10(Math.max(1, number)) / 3));
  return `${TENTHS.format(number / 1000 ** power)} ${["B", "kB", "MB", "GB"][power]}`;
}
export const signed = (number) => (number > 0 ? `+${number}` : String(number).replace("-", "−"));
export const plural = (number, one, many = `${one}s`) => `${whole(number)} ${number === 1 ? one : many}`;

export function money(dollars) {
  if (!dollars) return "–";
  return `$${dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}

export function duration(seconds) {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  return clock(Math.round(seconds));
}

/** Seconds that are counted aloud by nobody: "12 s", "2 min 5 s". */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** What to say beside every figure of an episode in which the player was helped; else nothing. */
export const hinted = ({ hints }) => (hints ? plural(hints, "hint") : "");

export function moment(iso) {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? String(iso ?? "") : MOMENT.format(date);
}

/** A fact, or that it is not known, which is not the same as none. */
export const known = (fact) => fact ?? "unknown";
export const placeName = (room) => room?.name ?? "Unknown place";

export function score({ score, max_score }) {
  return max_score ? `${known(score)} / ${max_score}` : String(known(score));
}

/** What the list calls an episode: the name somebody gave it, or else its folder's. */
export const named = (summary) => summary.name || summary.id;

/** Who played: the model or, where none was asked, the name of the player. */
export const playedBy = ({ model, player }) => model || player;

/** How an episode ended, or that it has not. */
export function ending(summary) {
  if (summary.end_reason) return ENDS[summary.end_reason] ?? summary.end_reason.replaceAll("_", " ");
  return summary.running ? "Running" : "Interrupted";
}

export function tokens(summary) {
  return summary.prompt_tokens + summary.completion_tokens;
}

/** Share of prompt tokens that the provider had cached, such as "62 % cached". */
export function cached(usage) {
  if (!usage.cached_tokens || !usage.prompt_tokens) return "";
  return `${Math.round((100 * usage.cached_tokens) / usage.prompt_tokens)} % cached`;
}
