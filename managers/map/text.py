"""How rooms, ways and routes are put into words."""

from collections.abc import Iterable

from managers.map.ways import Way
from session.game_state import ExitSeen
from session.perception.directions import in_order

_QUOTE_CHARACTERS = 70


def label(room_id: int, name: str) -> str:
    """A room's name with its id: names are shared by rooms of mazes and woods."""
    return f"{name} #{room_id}" if room_id > 0 else name


def shortened(text: str, length: int = _QUOTE_CHARACTERS) -> str:
    """A quotation in one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def remarked(text: str, remarks: Iterable[str | None]) -> str:
    """The text, and the remarks there are behind it in brackets."""
    told = "; ".join(remark for remark in remarks if remark)
    return f"{text} ({told})" if told else text


def commands(route: Iterable[Way]) -> list[str]:
    """What to type, step by step."""
    return [way.command for way in route]


def steps(route: tuple[Way, ...]) -> str:
    """How long a route is."""
    return "1 step" if len(route) == 1 else f"{len(route)} steps"


def by_compass(exits: Iterable[ExitSeen]) -> list[ExitSeen]:
    """Exits in an order that does not depend on the story."""
    return sorted(exits, key=lambda way_out: in_order(way_out.direction))
