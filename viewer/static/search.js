// Words in the texts of turns: what was thought, done and answered, and what tools said.

/** Every text of a turn that its article shows, each on lines of its own. */
function texts(turn) {
  return [
    turn.place?.name, turn.thinking, turn.command, turn.response, turn.advice, turn.failure, turn.new_objective, turn.nav_target,
    ...turn.refused.flatMap((it) => [it.command, it.reason, it.thinking]),
    ...turn.tools.flatMap((it) => [it.name, JSON.stringify(it.arguments), it.result]),
  ].filter(Boolean);
}

/** Whether `wanted` stands in a turn, in letters of either case. */
export function found(turn, wanted) {
  const words = plain(wanted);
  return words !== "" && texts(turn).some((text) => plain(text).includes(words));
}

export const plain = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
