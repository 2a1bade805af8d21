// The room that lies next to another on the drawing, for the arrow keys.

export const KEYS_OF_SIDES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The nearest of `rooms` on that side of `room`, rather straight ahead than aslant; null if there is none. */
export function neighbour(rooms, room, [across, down]) {
  if (room.empty()) return rooms.first();
  const from = room.position();
  let nearest = null;
  let least = Infinity;
  for (const other of rooms) {
    const { x, y } = other.position();
    const ahead = (x - from.x) * across + (y - from.y) * down;
    const aside = Math.abs((x - from.x) * down) + Math.abs((y - from.y) * across);
    const cost = ahead + 2 * aside;
    if (ahead > 0 && aside <= 2 * ahead && cost < least) {
      nearest = other;
      least = cost;
    }
  }
  return nearest;
}
