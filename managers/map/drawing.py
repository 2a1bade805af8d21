"""The map as a Mermaid flowchart, safe whatever rooms are called."""

from collections.abc import Iterable, Iterator, Mapping

from managers.map.ways import Way

_SAFE = frozenset(" -',")
_ANSWER_CHARACTERS = 60


def mermaid(rooms: Mapping[int, str], ways: Iterable[Way], here: int | None) -> str:
    """Rooms and ways as walked: ``<-->`` both ways, ``-->`` one way, ``-.->`` not to be relied on.

    What last led nowhere ends in a cross.
    """
    drawn = list(ways)
    lines = ["flowchart LR"]
    lines += [f'  r{room_id}["{_text(name)} #{room_id}"]' for room_id, name in rooms.items()]
    lines += (f"  {line}" for line in (*_trusted(drawn), *_doubtful(drawn), *_blocked(drawn)))
    if here in rooms:
        lines += ["  classDef here stroke-width:4px", f"  class r{here} here"]
    return "\n".join(lines) + "\n"


def _trusted(ways: list[Way]) -> Iterator[str]:
    between: dict[tuple[int, int], list[str]] = {}
    for way in ways:
        if way.is_trusted and way.to is not None:
            between.setdefault((way.room_id, way.to), []).append(_text(way.command))
    for (start, end), commands in between.items():
        back = between.get((end, start)) if start != end else None
        if back is None:
            yield _arrow(start, "-->", ", ".join(commands), f"r{end}")
        elif start < end:
            yield _arrow(start, "<-->", f"{', '.join(commands)} - {', '.join(back)}", f"r{end}")


def _doubtful(ways: list[Way]) -> Iterator[str]:
    """Random ways, and what carried the player once."""
    for way in ways:
        if not way.is_trusted and not way.is_blocked:
            for room_id in way.destinations:
                yield _arrow(way.room_id, "-.->", _text(way.command), f"r{room_id}")


def _blocked(ways: list[Way]) -> Iterator[str]:
    """To the room where it led before, else to the game's answer."""
    for number, way in enumerate(way for way in ways if way.is_blocked):
        if way.to is None:
            answer = _text(f"{way.command} of #{way.room_id} - {way.answer}"[:_ANSWER_CHARACTERS])
            end = f'b{number}(["{answer}"])'
        else:
            end = f"r{way.to}"
        yield _arrow(way.room_id, "--x", _text(way.command), end)


def _arrow(start: int, line: str, label: str, end: str) -> str:
    return f'r{start} {line}|"{label}"| {end}'


def _text(text: str) -> str:
    """Everything that could mean something to Mermaid or HTML as a numbered character."""
    return "".join(
        sign if sign.isalnum() or sign in _SAFE else f"#{ord(sign)};"
        for sign in " ".join(text.split())
    )
