"""Command lines: a parser that knows what was meant, and types of flags. Standard library only."""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, TypeAlias

# argparse names the type of its sub-commands nowhere in public.
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001
_UNKNOWN = "unrecognized arguments: "
_MISSING = "the following arguments are required: "
_WRONG_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)\Z", re.DOTALL)
_WHOLE = re.compile(r"-?\d{1,4000}")
"""Of a length that Python reads."""


class _Lines(argparse.RawDescriptionHelpFormatter):
    """Keeps commands as they are, and paragraphs that fit; breaks the others at words."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from textwrap import wrap

        whole = partial(wrap, width=width, break_long_words=False, break_on_hyphens=False)
        broken = []
        for block in text.split("\n\n"):
            lines = block.splitlines()
            are_commands = all(line.startswith("    ") for line in lines)  # to be copied
            if are_commands or all(len(line) <= width for line in lines):
                broken += lines
            elif any(line[:1].isspace() for line in lines):
                for line in lines:
                    further = " " * (len(line) - len(line.lstrip()))
                    broken += whole(line, subsequent_indent=further)
            else:
                broken += whole(" ".join(lines))
            broken.append("")
        return "\n".join(indent + line for line in broken[:-1])


class Parser(argparse.ArgumentParser):
    """Accepts no abbreviations, keeps the lines of its texts, and knows which flag was meant."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  what argparse takes
        super().__init__(**{"formatter_class": _Lines, "allow_abbrev": False, **options})
        # Whoever has a flag of type Path has imported it; nobody else should wait for it.
        pathlib = sys.modules.get("pathlib")
        for kind in (None, str, *([pathlib.Path] if pathlib else [])):
            self.register("type", kind, partial(_not_empty, kind or str))

    commands: tuple[str, ...] = ()
    """Those that it does not parse itself."""

    def error(self, message: str) -> NoReturn:
        """End the program with code 2 and a line, naming the flag that a misspelt one resembles."""
        from mcp_ghost.text import did_you_mean  # which --help need not wait for

        words = message.partition(_UNKNOWN)[2].split()
        flags = (word.partition("=")[0] for word in words if word.startswith("-"))
        wrong = next((flag for flag in flags if len(flag) > 2), "")  # one letter is like any other
        known = self.known_flags()
        if words and not any(word.startswith("-") for word in words):
            wrong, known = words[0], iter(self.commands)
        if choice := _WRONG_CHOICE.search(message):
            # Not every version of Python puts them into quotation marks.
            wrong, known = choice[1], (it.strip("'\"") for it in choice[2].split(", "))
        hint = did_you_mean(wrong, known)
        if message.startswith(_MISSING):
            hint = "--help shows all"
        said = f"{message} ({hint})" if hint else message
        self.exit(2, f"{self.prog}: error: {said}\n")  # without the flags, which hide it

    def known_flags(self) -> Iterator[str]:
        """Its own, and those of its commands."""
        for action in self._actions:
            yield from action.option_strings
            if isinstance(action.choices, dict):
                for command in action.choices.values():
                    yield from command.known_flags()


def add_flags(where: argparse._ActionsContainer, described: str, **more: Mapping[str, Any]) -> None:
    """Add the flags that ``described`` lists, each on a line such as ``-o --output FILE  where``.

    One that names no value is a switch. ``more`` gives, by the names of values and of flags, what
    else ``add_argument`` takes.
    """
    for line in described.splitlines():
        spelling, meaning = re.split(r"\s{2,}", line, maxsplit=1)
        words = spelling.split()
        names = [word for word in words if word.startswith("-")]
        takes = {"metavar": words[-1]} if words != names else {"action": "store_true"}
        flag = names[-1].strip("-").replace("-", "_")
        options = {**takes, **more.get(words[-1], {}), **more.get(flag, {})}
        where.add_argument(*names, help=meaning, **options)


def add_command(commands: Commands, name: str, purpose: str, **options: Any) -> Parser:  # noqa: ANN401
    """Add a command; ``purpose`` is said in the list of commands and in its own help."""
    described = f"{purpose[0].upper()}{purpose[1:]}."
    return commands.add_parser(name, help=purpose, description=described, **options)


def _not_empty(kind: Callable[[str], object], text: str) -> object:
    if not text:
        raise argparse.ArgumentTypeError("the value is empty: is a shell variable unset?")
    return kind(text)


class _Trust(argparse.Action):
    """Trusts the working directory, here and in the processes started later."""

    def __call__(self, *_: object) -> None:
        """Do it at once: what is read next may depend on it."""
        from mcp_ghost.trust import trust_folder  # which --help need not wait for

        trust_folder()


def add_trust(where: argparse._ActionsContainer) -> None:
    """Add ``--trust``."""
    about = "trust .env, pyproject.toml and mcp_config.json in this folder without asking"
    where.add_argument("--trust", action=_Trust, nargs=0, help=about)


def whole_number(least: int = 1, most: int | None = None) -> Callable[[str], int]:
    """A type of flag: a whole number within bounds."""

    def read(text: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
        if least <= int(text) <= (int(text) if most is None else most):
            return int(text)
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"must be {bounds}, not '{text}'")

    return read


port_number = whole_number(1, 2**16 - 1)
seed_number = whole_number(0, 2**31 - 1)


def _finite(text: str, *, least: float, wanted: str) -> float:
    with suppress(ValueError):
        if least <= (found := float(text)) < float("inf"):
            return found
    raise argparse.ArgumentTypeError(f"'{text}' is not {wanted}")


number = partial(_finite, least=0.0, wanted="a number of 0 or more")
seconds = partial(_finite, least=sys.float_info.min, wanted="a number of seconds above 0")
_AMOUNT = "a number of US dollars, such as 2.50"
dollars = partial(_finite, least=sys.float_info.min, wanted=_AMOUNT)


def http_url(text: str) -> str:
    """A type of flag: an address on the web."""
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"'{text}' does not start with http:// or https://")
    return text
