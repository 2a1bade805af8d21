"""The games as tools of an MCP server."""

import logging
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from game_interface.errors import GameError
from game_server.games import Games, Guest
from game_server.hosted import HostedGame
from game_server.limits import NAME_CHARACTERS
from game_server.reply import GuestReply, RefusedError
from mcp_ghost.text import one_line
from session.configuration_file import ConfigurationError, near
from session.levels import ObservationLevel
from session.record.event_log import EpisodeDamagedError, EpisodeLockedError, EpisodeNotKeptError
from session.version import version

MOST_TURNS_SHOWN = 200
"""Of `history`, in one call."""
_INSTRUCTIONS = (
    "Text adventures to play. Call new_game once, then command for each thing you do: one short "
    "command in plain English, such as one a player would type. status says where you stand, and "
    "history repeats earlier turns."
)
_EXPLAINED = (
    ConfigurationError,
    EpisodeDamagedError,
    EpisodeLockedError,
    EpisodeNotKeptError,
    GameError,
    RefusedError,
)

_Game = Annotated[
    str | None,
    Field(
        description="The name that new_game gave the game; by default, the game you are playing."
    ),
]


class Answer(BaseModel):
    """What a tool says, as values."""

    game: str = Field(description="The name of the game.")
    turn: int = Field(description="How many turns have been played.")
    text: str = Field(description="What the game printed.")
    ended: str | None = Field(description="Why the episode ended; null while it continues.")
    remark: str | None = Field(
        description="What the host did not grant of your request; null if it granted all."
    )
    facts: dict[str, Any] = Field(
        description="What is known beyond the text, as the level allows; null for what is unknown."
    )


class Turn(BaseModel):
    """A turn that was played."""

    turn: int
    command: str
    text: str


class History(BaseModel):
    """Turns that were played, in order."""

    game: str
    opening: str = Field(description="What the game prints at its start.")
    turns: list[Turn]


class _Server(MCPServer[Any]):
    """One that refuses arguments that a tool does not have, and says why a game refuses something.

    The SDK would leave out the former, and be silent about the latter.
    """

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call the tool of that name.

        Raises:
            ToolError: It does not exist, has no such argument, or failed; the message says which.
        """
        for tool in await self.list_tools():
            known = tool.input_schema["properties"]
            unknown = [it for it in arguments if it not in known]
            if tool.name == name and unknown:
                wrong = one_line(unknown[0], NAME_CHARACTERS)
                raise ToolError(f"Unknown argument '{wrong}' of {name}: {near(unknown[0], known)}")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, _EXPLAINED):  # else its text is none of the client's
                raise ToolError(f"{error}: {error.__cause__}") from error
            raise


def game_server(games: Games) -> MCPServer[Any]:
    """Return an MCP server that plays ``games``."""
    logging.getLogger().addHandler(logging.NullHandler())  # or the SDK would add one that prints
    server = _Server(
        "zorkgpt",
        title="Text adventures",
        version=version(),
        instructions=_INSTRUCTIONS,
        log_level="ERROR",
    )
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    playing = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
    )
    tools = _Tools(games)
    begins = f"Start a new game and return its opening text. {games.offer}"
    server.add_tool(tools.new_game, description=begins, annotations=playing)
    server.add_tool(tools.command, annotations=playing)
    server.add_tool(tools.status, annotations=reading)
    server.add_tool(tools.history, annotations=reading)
    return server


class _Tools:
    """None is asynchronous, so the SDK calls each in a thread: a game may take its time."""

    def __init__(self, games: Games) -> None:
        self._games = games

    def new_game(
        self,
        ctx: Context,
        story: Annotated[
            str | None,
            Field(description="The name of a story that this tool offers."),
        ] = None,
        seed: Annotated[
            int | None,
            Field(
                ge=0,
                le=2**31 - 1,
                description="The same seed gives the same rolls of the dice; it has no effect "
                "where the host has set one.",
            ),
        ] = None,
        level: Annotated[
            ObservationLevel | None,
            Field(
                description="How much you are told: text is what the game prints; status adds "
                "score, moves and room; facts adds what is carried and in view; facts+exits adds "
                "the exits. The host may limit it."
            ),
        ] = None,
    ) -> Annotated[CallToolResult, Answer]:
        """Begin a new game."""
        game = self._games.new(_guest(ctx), story, seed, level)
        remark = self._games.limits.remark(seed, level)
        return _answer(game, game.begin(), names_it=True, remark=remark)

    def command(
        self,
        ctx: Context,
        text: Annotated[
            str,
            Field(
                description="One command to the game on one line, of at most 100 characters; not "
                "one to the interpreter, such as save, restore or quit."
            ),
        ],
        game: _Game = None,
    ) -> Annotated[CallToolResult, Answer]:
        """Give the game a command; returns what it answers."""
        played = self._games.find(_guest(ctx), game, to_play=True)
        return _answer(played, played.command(text))

    def status(self, ctx: Context, game: _Game = None) -> Annotated[CallToolResult, Answer]:
        """Report what is known about the game now, without making a move."""
        played = self._games.find(_guest(ctx), game)
        return _answer(played, played.status(), names_it=True)

    def history(
        self,
        ctx: Context,
        last: Annotated[int, Field(ge=1, le=MOST_TURNS_SHOWN, description="How many turns.")] = 20,
        before: Annotated[
            int | None, Field(ge=1, description="Only turns before this one.")
        ] = None,
        game: _Game = None,
    ) -> Annotated[CallToolResult, History]:
        """The latest turns: each command, and what the game answered."""
        played = self._games.find(_guest(ctx), game)
        turns = [
            Turn(turn=it.turn, command=it.command, text=it.response)
            for it in played.history(last, before)
        ]
        told = [f"{it.turn}. > {it.command}\n{it.text.strip()}" for it in turns]
        values = History(game=played.name, opening=played.opening, turns=turns)
        return _result("\n\n".join(told) or values.opening.strip(), values)


def _guest(ctx: Context) -> Guest:
    """Return who asks: one guest over stdio, one for each session of HTTP."""
    request = ctx.request_context.request
    session = "" if request is None else request.headers.get("mcp-session-id")
    info = ctx.request_context.session.client_params
    named = f"{info.client_info.name} {info.client_info.version}" if info else ""
    return Guest(one_line(named, NAME_CHARACTERS) or "unnamed client", session)


def _answer(
    game: HostedGame, reply: GuestReply, *, names_it: bool = False, remark: str = ""
) -> CallToolResult:
    ended = f"The episode has ended: {reply.ended}." if reply.ended else ""
    named = f"This game is called {game.name}." if names_it else ""
    parts = (reply.text.strip(), reply.situation, ended, named, remark)
    values = Answer(game=game.name, remark=remark or None, **reply._asdict())
    return _result("\n\n".join(part for part in parts if part), values)


def _result(text: str, values: BaseModel) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=values.model_dump(mode="json"),
    )
