// The room that lies next to another on the drawing, for the arrow keys.

export const KEYS_OF_SIDES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The nearest of `rooms` on that side of `room`, rather straight ahead than aslant; undefined if there is none. */
export function neighbour(rooms, room, [across, down]) {
  if (room.empty()) return rooms.first();
  const from = room.position();
  return rooms.min((other) => {
    const [x, y] = [other.position("x") - from.x, other.position("y") - from.y];
    const [ahead, aside] = [x * across + y * down, Math.abs(x * down) + Math.abs(y * across)];
    return ahead > 0 && aside <= 2 * ahead ? ahead + 2 * aside : Infinity;
  }).ele;
}
