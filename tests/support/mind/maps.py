"""What a map knows, room by room, in short form."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from managers.map.world_map import WorldMap
    from session.game_state import Place


def led(world: WorldMap, room_id: int) -> dict[str, Place]:
    """Command -> room to which it led last."""
    known = world.ways.of(room_id).values()
    return {way.command: world.place(way.to) for way in known if way.to and not way.is_blocked}


def blocked(world: WorldMap, room_id: int) -> dict[str, str]:
    """Direction -> the game's answer, where the latest try did not lead anywhere."""
    known = world.ways.of(room_id).values()
    return {way.command: way.answer or "" for way in known if way.is_blocked}


def route(world: WorldMap, from_id: int, to_id: int) -> tuple[tuple[str, Place], ...] | None:
    """Each step's command and the room that it leads to; None when no way is known."""
    ways = world.route(from_id, to_id)
    return None if ways is None else tuple((way.command, world.place(way.to)) for way in ways)
