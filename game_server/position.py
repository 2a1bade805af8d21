"""A moment of a game that is recorded nowhere, as bytes: all that its next step depends on.

Layout: a line of text with format and version, then compressed JSON. The attributes that it names
are those of `Perception` and `GameState`.
"""

from __future__ import annotations

import zlib
from typing import Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from game_interface.errors import SnapshotError
from session.game_state import EndReason, GameState, Observation, TurnRecord
from session.levels import ObservationLevel
from session.perception.perception import Perception, _Room

_FORMAT: Final = b"zorkgpt-state 1"
_MOST_BYTES: Final = 2**25
_Situation: TypeAlias = tuple[int | str, tuple[str, ...] | None, tuple[str, ...]]


class _Part(BaseModel):
    """Attributes of an object that change from turn to turn."""

    model_config = ConfigDict(from_attributes=True)

    def put_into(self, target: object) -> None:
        """Set these attributes of ``target``."""
        for name, field in type(self).model_fields.items():
            setattr(target, field.alias or name, getattr(self, name))


class Learned(_Part):
    """What a `Perception` has gathered from what the game said."""

    names: set[str]
    printed: set[str] = Field(alias="_printed")
    rooms: dict[int, _Room] = Field(alias="_rooms")
    carried: set[str] = Field(alias="_carried")
    room_names: set[str] = Field(alias="_room_names")

    @classmethod
    def of(cls, perception: Perception) -> Learned:
        """Read a perception's attributes."""
        return cls.model_validate(perception)


class Counted(_Part):
    """What a `GameState` counts and compares to find the end of an episode."""

    turn_count: NonNegativeInt
    last_action: str | None
    last_response: str
    deaths: int | None
    turns_without_news: NonNegativeInt
    turns_with_one_answer: NonNegativeInt
    engine_refused: NonNegativeInt
    refused_in_a_row: NonNegativeInt
    end_reason: EndReason | None
    best_score: int = Field(alias="_best_score")
    situations: set[_Situation] = Field(alias="_situations")

    @classmethod
    def of(cls, state: GameState) -> Counted:
        """Read a state's attributes."""
        return cls.model_validate(state)


class Position(BaseModel):
    """A moment of a game, between two commands."""

    level: ObservationLevel
    snapshot: str
    """The engine's state, base64."""
    learned: Learned
    counted: Counted
    seen: Observation
    """As it was told."""
    latest: TurnRecord | None
    """The latest turn, as it was told, without its snapshot."""

    def packed(self) -> bytes:
        """Return it as bytes."""
        return _FORMAT + b"\n" + zlib.compress(self.model_dump_json(by_alias=True).encode())

    @classmethod
    def unpacked(cls, data: bytes) -> Position:
        """Read a position from bytes that may come from anywhere.

        Raises:
            SnapshotError: They hold none.
        """
        kind, _, compressed = data.partition(b"\n")
        if kind != _FORMAT:
            raise SnapshotError("this is not a state of this version of the environment")
        unpacker = zlib.decompressobj()
        try:
            position = cls.model_validate_json(unpacker.decompress(compressed, _MOST_BYTES))
        except (zlib.error, ValueError) as error:
            raise SnapshotError("the state is damaged") from error
        if not unpacker.eof:
            raise SnapshotError("the state is damaged")
        return position
