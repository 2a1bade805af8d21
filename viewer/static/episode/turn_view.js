// One turn of the transcript: what the model thought and did, and what the game answered.

import { ofEpisode } from "../address.js";
import { bdi, fill, foldable, h, wholeText } from "../dom.js";
import * as format from "../format.js";

/** The turn as an article; reflections that followed it are beneath. */
export function turnArticle(episode, turn) {
  const article = row(episode, turn.turn, format.placeName(turn.place));
  const margin = h("div", { class: "margin" }, number(episode, turn.turn),
    Boolean(turn.scored) && h("span", { class: "delta", "data-down": turn.scored < 0 }, format.signed(turn.scored)));
  const body = h("div", { class: "body" },
    h("p", { class: "where" }, bdi(format.placeName(turn.place)), h("span", { class: "spent" }, spent(turn))),
    hintsAt(episode, turn.turn).map(({ text }) => h("p", { class: "aside from-watcher" }, h("b", {}, "Hint from the person watching "), bdi(text))),
    turn.tools.map((tool, i) => toolCall(episode, turn.turn, tool, i)),
    turn.refused.map(refusal),
    turn.thinking && !saysFailure(turn) && h("div", { class: "thinking" }, h("span", { class: "unseen" }, "Model thinks: "), foldable(turn.thinking)),
    turn.new_objective && h("p", { class: "aside" }, h("b", {}, "New objective "), bdi(turn.new_objective)),
    turn.nav_target && h("p", { class: "aside" }, h("b", {}, "Looking for the way to "), bdi(turn.nav_target)),
    turn.failure && h("p", { class: "failure" }, h("b", {}, "No usable answer. "), bdi(turn.failure)),
    command(turn),
    turn.advice && h("p", { class: "advice" }, h("b", {}, "Advice "), bdi(turn.advice)),
    h("div", { class: "answer", dir: "auto" }, h("span", { class: "unseen" }, "Game answers: "), foldable(turn.response.trim())),
    outcome(turn),
    failuresAt(episode, turn.turn).map(wentWrong),
    reflectionsAt(episode, turn.turn).map((it) => reflection(episode, it)));
  article.append(margin, body);
  return article;
}

/** What the game said before the first turn. */
export function openingArticle(episode) {
  const article = row(episode, 0, "Opening");
  article.append(h("div", { class: "margin" }, number(episode, 0)),
    h("div", { class: "body" }, h("div", { class: "answer opening", dir: "auto" }, foldable(episode.info.opening.trim())), failuresAt(episode, 0).map(wentWrong)));
  return article;
}

/** What went wrong in or after `turn`, such as a turn that would have come then. */
const failuresAt = (episode, turn) => episode.info.failures.filter((it) => it.after === turn);

const wentWrong = ({ what, why, times }) =>
  h("p", { class: "failure went-wrong" }, h("b", {}, what, times > 1 && `, at ${times} tries`, ". "), bdi(why));

/** What came about a turn besides itself, which may be known later. */
export const newsAt = (episode, turn) => [reflectionsAt(episode, turn).length, hintsAt(episode, turn).length, ...failuresAt(episode, turn).map((it) => it.times)].join(" ");

const hintsAt = (episode, turn) => (episode.info.hints ?? []).filter((it) => it.turn === turn);
const reflectionsAt = (episode, turn) => episode.info.reflections.filter((it) => it.turn === turn);

function row(episode, turn, room) {
  return h("article", {
    class: "turn", "data-turn": turn, tabindex: "-1", "aria-posinset": turn + 1, "aria-setsize": episode.last + 1,
    "aria-label": turn ? `Turn ${turn}, ${room}` : room,
  });
}

const number = (episode, turn) =>
  h("a", { class: "turn-number", href: ofEpisode(episode.id, turn), "aria-label": `Show turn ${turn}` }, String(turn));

function spent({ usage, seconds }) {
  const parts = [usage.calls > 1 && `${usage.calls} calls`,
    ...(format.tokens(usage) ? [`${format.short(usage.prompt_tokens)} in`, `${format.short(usage.completion_tokens)} out`] : []),
    format.cached(usage), usage.cost > 0 && format.money(usage.cost), format.duration(seconds)];
  return parts.filter(Boolean).map((it) => it.replaceAll(" ", "\u00a0")).join(" · ");
}

/** Where there was no answer, its place is taken by the reason, which is shown anyway. */
const saysFailure = ({ thinking, failure }) => failure && thinking.endsWith(failure);

function command(turn) {
  const differs = turn.proposed.trim() !== turn.command && !turn.failure;
  return h("p", { class: "command" }, h("span", { class: "prompt", "aria-hidden": "true" }, "›"),
    h("span", { class: "unseen" }, "Command: "), bdi(turn.command, { class: "typed" }),
    differs && h("span", { class: "proposed" }, "proposed as ", h("s", {}, bdi(turn.proposed.slice(0, 300)))));
}

function refusal(it) {
  return h("div", { class: "refusal" },
    h("p", {}, h("b", {}, "Refused "), bdi(it.command, { class: "typed" }), " ", bdi(it.reason)),
    it.thinking && h("details", {}, h("summary", {}, "What it thought"), h("div", { class: "thinking" }, foldable(it.thinking))));
}

function toolCall(episode, turn, tool, i) {
  const facts = [format.duration(tool.duration_ms / 1000), tool.length > 200 && `${format.short(tool.length)} characters`];
  const result = h("div", { class: "result" });
  showResult(result, episode, turn, tool, i);
  return h("details", { class: "tool", "data-error": tool.is_error },
    h("summary", {}, h("span", { class: "kind" }, tool.is_error ? "Tool failed" : "Tool"), bdi(tool.name, { class: "typed" }),
      h("span", { class: "fine" }, facts.filter(Boolean).join(" · "))),
    h("h4", {}, "Arguments"), h("pre", { dir: "auto" }, foldable(pretty(tool.arguments))),
    h("h4", {}, tool.is_error ? "Error" : "Result"), result);
}

function showResult(place, episode, turn, tool, i) {
  fill(place, h("pre", { dir: "auto" }, foldable(tool.cut ? tool.result : readable(tool.result), 5000)));
  if (!tool.cut) return;
  const more = h("button", { type: "button", class: "more" }, `Show all ${format.whole(tool.length)} characters`);
  more.addEventListener("click", async () => {
    more.disabled = true;
    try {
      fill(place, wholeText(await episode.toolResult(turn, i)));
    } catch (error) {
      more.disabled = false;
      more.after(h("span", { class: "failure" }, ` The text could not be loaded. ${error.message}`));
    }
  });
  place.append(more);
}

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

/** JSON as people read it; anything else as it is. */
function readable(text) {
  try {
    return /^\s*[[{]/.test(text) ? pretty(JSON.parse(text)) : text;
  } catch {
    return text;
  }
}

function outcome(turn) {
  if (turn.won) return h("p", { class: "outcome", "data-kind": "victory" }, "Victory");
  if (turn.died) return h("p", { class: "outcome", "data-kind": "death" }, turn.over ? "Death, and the end" : "Death");
  return turn.over && h("p", { class: "outcome" }, "The end");
}

function reflection(episode, it) {
  const learned = [
    ...it.memories.map((id) => ["Memory", episode.memories.get(id), memoryText]),
    ...it.claims.map((id) => ["Claim", episode.claims.get(id), (claim) => claim.text]),
    ...it.objectives.map((id) => ["Objective", episode.objectives.get(id), (objective) => objective.text]),
  ].filter(([, thing]) => thing);
  return h("section", { class: "reflection", "data-reflection": it.number, "aria-label": `Reflection ${it.number}` },
    h("p", { class: "kind" }, `Reflection ${it.number}`, it.triggers.length > 0 && h("span", { class: "fine" }, ` after ${it.triggers.join(", ")}`),
      h("span", { class: "spent" }, spent(it))),
    it.failure && h("p", { class: "failure" }, bdi(it.failure)),
    learned.length > 0 && h("ul", {}, learned.map(([kind, thing, text]) => h("li", {}, h("b", {}, kind, becoming(thing, it.turn), " "), bdi(text(thing))))),
    !learned.length && !it.failure && h("p", { class: "fine" }, "Nothing new was learned."),
    it.dropped.length > 0 && h("details", {}, h("summary", {}, `${it.dropped.length} dropped`), h("ul", {}, it.dropped.map((why) => h("li", {}, bdi(why))))));
}

/** What a reflection did to a thing learned, when it did not bring it about. */
function becoming(thing, turn) {
  if ((thing.to ?? thing.closed) === turn) return ` ${thing.status}`;
  return (thing.from ?? thing.opened) < turn ? " seen again" : "";
}

const memoryText = (memory) => `${memory.title}. ${memory.text} (${memory.room.name})`;
