"""How much of the machine's truth the player is told."""

from enum import StrEnum


class ObservationLevel(StrEnum):
    """Each tells what those before it tell, and more."""

    TEXT = "text"
    """What the game printed."""
    STATUS = "status"
    """And score, moves and the room's name, as a status line shows them."""
    FACTS = "facts"
    """And what is carried, and the things in view that the game has mentioned."""
    FACTS_EXITS = "facts+exits"
    """And the exits that the game has mentioned."""

    def reaches(self, other: "ObservationLevel") -> bool:
        """Tell whether it tells all that ``other`` tells."""
        levels = list(ObservationLevel)
        return levels.index(self) >= levels.index(other)

    @property
    def tells_status(self) -> bool:
        """Whether score, moves and the room's name are told."""
        return self.reaches(ObservationLevel.STATUS)

    @property
    def tells_facts(self) -> bool:
        """Whether things are told, and rooms with what tells them apart."""
        return self.reaches(ObservationLevel.FACTS)

    @property
    def tells_exits(self) -> bool:
        """Whether exits are told that nobody has tried."""
        return self.reaches(ObservationLevel.FACTS_EXITS)
