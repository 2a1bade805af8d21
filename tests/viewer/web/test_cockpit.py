"""What whoever started a game may do to it, and what stays of that in every figure."""

from __future__ import annotations

import json
import logging
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from managers.context_manager import hints_of
from orchestration.replay import replay
from session.game_state import GameState, Hint
from session.record.event_log import read
from session.record.schema import ModelCall
from session.record.summary import LOG_FILE
from tests.support import PATIENCE
from tests.support.viewing import KEY, Told, append, entered, log_of, play, playing, streamed
from viewer.web.changes import MOST_SENT_BYTES
from viewer.web.cockpit import (
    MOST_HINT_CHARACTERS,
    MOST_HINTS_WAITING,
    THOUGHT_CHARACTERS,
    Cockpit,
    RefusedError,
)
from viewer.web.watch import watching

if TYPE_CHECKING:
    from collections.abc import Callable

CONTROL = "data/played/control"
HINT = "The dry bed needs water."
_LOGGER = logging.getLogger("test")


@pytest.fixture
def cockpit() -> Cockpit:
    return Cockpit([KEY])


@pytest.fixture
def client(tmp_path: Path, cockpit: Cockpit) -> Iterator[httpx2.Client]:
    with (
        watching(tmp_path, open_browser=False, cockpit=cockpit) as address,
        entered(address, timeout=30) as client,
    ):
        yield client


@pytest.fixture
def press(client: httpx2.Client, cockpit: Cockpit) -> Callable[..., httpx2.Response]:
    def pressed(
        act: str, text: str = "", token: str = cockpit.token, **headers: str
    ) -> httpx2.Response:
        headers["authorization"] = f"Bearer {token}"
        return client.post(CONTROL, json={"act": act, "text": text}, headers=headers)

    return pressed


def doing(told: Told, what: str) -> dict[str, Any]:
    """What the page is told once the game is doing that."""
    while True:
        _, now = told.until("now")
        if now["doing"] == what:
            return dict(now)


def played_turns(folder: Path) -> list[int]:
    return [event["turn"] for event in log_of(folder) if event["event_type"] == "turn"]


def with_log(client: httpx2.Client) -> None:
    """Wait until the episode has begun."""
    while client.get("data/latest/episode.json").status_code == 202:
        pass


def test_a_step_plays_exactly_one_turn_and_a_pause_holds(
    tmp_path: Path, client: httpx2.Client, cockpit: Cockpit, press: Callable[..., httpx2.Response]
) -> None:
    folder = tmp_path / "episodes" / "played"
    with playing(tmp_path, 5, cockpit=cockpit, reflection_enabled=False) as gate:
        with_log(client)
        with streamed(client) as told:
            assert doing(told, "thinking")["turn"] == 1
            assert press("pause").status_code == 204
            gate.open(5)  # the model would answer at once, but for the turn in flight nobody asks
            assert doing(told, "paused")["turn"] == 2
            assert played_turns(folder) == [1]
            press("step")
            now = doing(told, "paused")
            assert (now["turn"], now["held"]) == (3, True)
            assert played_turns(folder) == [1, 2]
            press("resume")
            assert told.until("end")[1] == {"reason": "max_turns"}
    assert played_turns(folder) == [1, 2, 3, 4, 5]


def test_a_hint_reaches_the_model_once_and_marks_the_episode(
    tmp_path: Path, client: httpx2.Client, cockpit: Cockpit, press: Callable[..., httpx2.Response]
) -> None:
    folder = tmp_path / "episodes" / "played"
    said = f"{HINT}\nUse {KEY}."
    with playing(tmp_path, 3, cockpit=cockpit, reflection_enabled=False) as gate:
        with_log(client)
        with streamed(client) as told:
            doing(told, "thinking")
            press("pause")
            gate.open(3)
            doing(told, "paused")
            assert press("hint", said).status_code == 204
            press("resume")
            told.until("end")
    (hint,) = (event for event in log_of(folder) if event["event_type"] == "hint")
    assert (hint["turn"], hint["text"]) == (2, f"{HINT} Use ***.")
    calls = [it.event for it in read(folder) if isinstance(it.event, ModelCall)]
    asked = [[str(it["content"]) for it in call.request["messages"]] for call in calls]
    (told_so,) = hints_of(heard(hint["text"]))
    assert [sum(told_so in text for text in texts) for texts in asked] == [0, 1, 0]
    assert asked[1][-1].endswith(f"{told_so}\n\n{asked[0][-1].rpartition(chr(10) * 2)[2]}")
    assert len({texts[0] for texts in asked}) == 1, "the prompt's head stays as it is"
    assert asked[2][: len(asked[1]) - 1] == asked[1][:-1]
    assert KEY not in json.dumps(log_of(folder))
    text = (folder / LOG_FILE).read_text()
    assert f"Hint for turn 2, by the person watching: {HINT} Use ***." in text
    assert "1 hint from the person watching: not an unaided score" in text
    shown = client.get("data/played/episode.json").json()
    assert (shown["summary"]["hints"], shown["hints"]) == (1, [{"turn": 2, "text": hint["text"]}])
    assert client.get("data/episodes.json").json()["episodes"][0]["hints"] == 1
    assert (replay(folder).turns, replay(folder).calls) == (3, 3)


def heard(text: str) -> GameState:
    state = GameState("played")
    state.hear(Hint(turn=2, text=text))
    return state


def test_a_hint_that_was_recorded_is_told_when_the_episode_goes_on(tmp_path: Path) -> None:
    folder = play(tmp_path, 2, reflection_enabled=False)
    hint = {"event_type": "hint", "turn": 3, "text": HINT}
    append(folder, json.dumps(hint).encode() + b"\n")
    play(tmp_path, 4, reflection_enabled=False)
    calls = [it.event for it in read(folder) if isinstance(it.event, ModelCall)]
    assert [HINT in str(call.request["messages"]) for call in calls] == [False, False, True, False]
    assert replay(folder).turns == 4


def test_who_did_not_start_the_game_may_only_watch(
    tmp_path: Path, client: httpx2.Client, cockpit: Cockpit, press: Callable[..., httpx2.Response]
) -> None:
    own = str(client.base_url).rstrip("/")
    with playing(tmp_path, 2, cockpit=cockpit, reflection_enabled=False):
        with_log(client)
        episodes = tmp_path / "episodes"
        shutil.copytree(episodes / "played", episodes / "other")
        assert press("check").status_code == 204
        assert press("check", origin=own).status_code == 204
        assert client.post(CONTROL, json={"act": "pause"}).status_code == 403
        for token in ("x", cockpit.token[:-1], f"{cockpit.token}x", "caf%C3%A9"):
            assert press("pause", token=token).status_code == 403
        for origin in ("http://elsewhere.example", "http://[", "null", ""):
            assert press("pause", origin=origin).status_code == 403
        assert press("pause", **{"sec-fetch-site": "cross-site"}).status_code == 403
        assert press("pause", host="elsewhere.example").status_code == 403
        assert client.get(CONTROL).status_code == 404
        others = ("PUT", CONTROL), ("OPTIONS", CONTROL), ("POST", "data/episodes.json")
        assert {client.request(*it).status_code for it in others} == {405}
        with streamed(client) as told:
            assert doing(told, "thinking")["held"] is False, "nothing of that was obeyed"
        refused_with_the_reason(client, cockpit, press)
    assert press("pause").status_code == 409, "it has ended"


def refused_with_the_reason(
    client: httpx2.Client, cockpit: Cockpit, press: Callable[..., httpx2.Response]
) -> None:
    """What no button sends."""
    headers = {"authorization": f"Bearer {cockpit.token}"}
    for body in (b"", b"[]", b"{", b"[" * 3000, b'"' + b"x" * MOST_SENT_BYTES + b'"'):
        assert client.post(CONTROL, content=body, headers=headers).status_code == 400
    assert press("leave").text == "There is no such button."
    assert press("hint", " \n\x1b[2J ").text == "The hint is empty."
    assert "at most 300" in press("hint", "x" * (MOST_HINT_CHARACTERS + 1)).text
    assert {press("hint", "x").status_code for _ in range(MOST_HINTS_WAITING)} == {204}
    assert press("hint", "x").status_code == 422
    other = client.post("data/other/control", json={"act": "pause"}, headers=headers)
    assert (other.status_code, other.text) == (409, "This game is not being played here.")


def test_what_the_model_thinks_is_told_as_it_comes(
    tmp_path: Path, client: httpx2.Client, cockpit: Cockpit
) -> None:
    class Thought:
        text = "Shall I "

        def __str__(self) -> str:
            return self.text

    thought = Thought()
    with playing(tmp_path, 1, cockpit=cockpit, reflection_enabled=False):
        with_log(client)
        cockpit.begin(tmp_path / "episodes" / "played", thought)
        with streamed(client) as told:
            assert doing(told, "thinking")["thought"] == "Shall I "
            thought.text = "x" * THOUGHT_CHARACTERS + "Shall I go?"
            end = doing(told, "thinking")["thought"]
            assert (len(end), end[-11:]) == (THOUGHT_CHARACTERS, "Shall I go?")


def test_a_player_that_asks_no_model_takes_no_hint(
    tmp_path: Path, client: httpx2.Client, cockpit: Cockpit, press: Callable[..., httpx2.Response]
) -> None:
    cockpit.press("pause")  # before anything is played
    with playing(tmp_path, 1, cockpit=cockpit, player_name="random"):
        with_log(client)
        with streamed(client) as told:
            now = doing(told, "paused")
        assert (now["turn"], now["hears"]) == (1, False)
        assert (
            press("hint", HINT).text
            == "This player reads only what the game prints, so no hint can reach it."
        )
        assert played_turns(tmp_path / "episodes" / "played") == []


def test_a_chat_player_is_told_too(
    tmp_path: Path, client: httpx2.Client, cockpit: Cockpit, press: Callable[..., httpx2.Response]
) -> None:
    with playing(tmp_path, 2, cockpit=cockpit, player_name="chat") as gate:
        with_log(client)
        with streamed(client) as told:
            doing(told, "thinking")
            press("hint", HINT)
            gate.open(2)
    folder = tmp_path / "episodes" / "played"
    calls = [it.event for it in read(folder) if isinstance(it.event, ModelCall)]
    asked = [call.request["messages"] for call in calls]
    assert [HINT in str(it) for it in asked] == [False, True]
    assert HINT in asked[1][-1]["content"]
    assert replay(folder).turns == 2


def test_of_a_game_that_was_killed_nothing_is_told_but_how_to_go_on(
    tmp_path: Path, client: httpx2.Client
) -> None:
    folder = play(tmp_path, 2, reflection_enabled=False)
    *kept, end = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    begun = {"event_type": "turn_start", "turn": 3, "time": "2031-05-06T07:08:09+00:00"}
    (folder / "events.jsonl").write_bytes(b"".join([*kept, json.dumps(begun).encode(), b"\n"]))
    with streamed(client) as told:
        assert [told.next()[0] for _ in range(3)] == ["turn", "turn", "episode"]
        step, *_ = client.get("data/played/next.json").json()
        assert step["purpose"] == "Play on"
        assert "--resume" in step["command"]
        append(folder, end)
        assert [told.next()[0] for _ in range(2)] == ["episode", "end"], "and no `now` before"


def test_a_key_in_a_hint_reaches_nobody(cockpit: Cockpit, tmp_path: Path) -> None:
    cockpit.begin(tmp_path)
    cockpit.press("hint", f"Use {KEY}.\nNow.")
    assert list(cockpit.before_turn(1, logging.getLogger("test"))) == ["Use ***. Now."]


def test_no_more_lines_wait_for_a_turn_than_may_however_long_the_game_is_paused(
    cockpit: Cockpit, tmp_path: Path
) -> None:
    cockpit.begin(tmp_path)
    cockpit.press("pause")
    told = iter(cockpit.before_turn(1, logging.getLogger("test")))
    for number in range(MOST_HINTS_WAITING):
        cockpit.press("hint", f"Line {number}.")
        assert next(told) == f"Line {number}."
    with pytest.raises(RefusedError, match="Too many hints"):
        cockpit.press("hint", "One more.")
    cockpit.press("resume")
    assert list(told) == []
    cockpit.press("hint", "For the next turn.")
    assert list(cockpit.before_turn(2, logging.getLogger("test"))) == ["For the next turn."]


def test_a_paused_game_goes_on_when_its_page_is_gone(cockpit: Cockpit, tmp_path: Path) -> None:
    cockpit.begin(tmp_path)
    cockpit.press("pause")
    turn = cockpit.before_turn(1, logging.getLogger("test"))
    game = threading.Thread(target=list, args=[turn], daemon=True)
    game.start()
    cockpit.is_gone()
    game.join(PATIENCE)
    assert not game.is_alive()


@pytest.mark.parametrize("waits", [Cockpit.stay, lambda it: list(it.before_turn(1, _LOGGER))])
def test_a_signal_that_another_thread_gets_ends_the_wait(
    cockpit: Cockpit, tmp_path: Path, waits: Callable[[Cockpit], object]
) -> None:
    """As systems may choose: Python then handles it as soon as the main thread does anything."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def get_signal() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    cockpit.begin(tmp_path)
    cockpit.press("pause")
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        threading.Timer(0.1, get_signal).start()
        with pytest.raises(KeyboardInterrupt):
            waits(cockpit)
    finally:
        signal.signal(signal.SIGUSR1, before)
