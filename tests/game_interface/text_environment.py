"""Gymnasium environments of text that are not ours: a corridor to the east, with a lamp in it."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Discrete, Text

LENGTH = 3
HERE = "gym:tests.game_interface.text_environment:Tests/"
SILENT, TELLING, BROKEN = f"{HERE}Silent-v0", f"{HERE}Telling-v0", f"{HERE}Broken-v0"
TALKATIVE = f"{HERE}Talkative-v0"
NUMBERED, UNDECLARED = f"{HERE}Numbered-v0", f"{HERE}Undeclared-v0"
_WORDS = Text(200, min_length=1, charset="abcdefghijklmnopqrstuvwxyz ")


class Corridor(gymnasium.Env[str, str]):
    """Tells nothing but its text."""

    observation_space = Text(200)
    action_space = _WORDS

    def __init__(self) -> None:
        self.place, self.has_lamp, self.draws = 0, False, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.has_lamp = 0, False
        self.draws = int(self.np_random.integers(1000))
        return f"A corridor with a lamp. The number {self.draws} is on the wall.", self.told()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action == "break":
            raise RuntimeError("the corridor collapses")
        self.place += action == "east"
        self.has_lamp = self.has_lamp or action == "take lamp"
        text = f"You are {self.place} steps in."
        return text, 1.0, self.place >= LENGTH, False, self.told()

    def told(self) -> dict[str, Any]:
        return {}


class Telling(Corridor):
    """Tells score, room and what is carried."""

    def told(self) -> dict[str, Any]:
        return {
            "score": self.place,
            "max_score": LENGTH,
            "room": f"Step {self.place}",
            "inventory": ["lamp"] if self.has_lamp else [],
            "won": self.place >= LENGTH,
        }


class Broken(Corridor):
    """Cannot be made."""

    def __init__(self) -> None:
        raise KeyError("lamp")


class Talkative(Corridor):
    """Prints what it does."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        print("The corridor is being built.")
        return super().reset(seed=seed, options=options)


class Numbered(Corridor):
    """Is told what to do by numbers."""

    action_space = Discrete(4)  # type: ignore[assignment]  # which only a test would do


class Undeclared(Corridor):
    """Does not say what it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = None  # type: ignore[assignment]  # as older environments of text have it


gymnasium.register("Tests/Numbered-v0", f"{__name__}:Numbered")
gymnasium.register("Tests/Undeclared-v0", f"{__name__}:Undeclared")
gymnasium.register("Tests/Silent-v0", f"{__name__}:Corridor")
gymnasium.register("Tests/Telling-v0", f"{__name__}:Telling")
gymnasium.register("Tests/Broken-v0", f"{__name__}:Broken")
gymnasium.register("Tests/Talkative-v0", f"{__name__}:Talkative")
