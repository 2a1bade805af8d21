from __future__ import annotations

import functools
import http.server
import os
import re
import signal
import socket
import threading
from pathlib import Path
from xml.etree import ElementTree

import httpx2
import pytest

from tests.support import PATIENCE, ROOT
from tests.support.program import Program, heavy_imports, terminal, unread
from tests.support.viewing import TURNS, append, entered, log_of, recorded, served, write_log
from tests.terminal.test_view import kept_by_terminal
from viewer.web.site import page

PNG = b"\x89PNG\r\n\x1a\n"
COMMANDS = ("export", "show", "map", "plot")


@pytest.fixture
def viewer(tmp_path: Path) -> Program:
    """The viewer in a folder whose work folder holds one episode."""
    recorded(tmp_path / "game_files")
    program = Program(tmp_path, "-m", "viewer")
    program.env["PYTHONPATH"] = str(ROOT)
    return program


def test_help_names_every_command_and_does_not_wait(viewer: Program) -> None:
    helped = viewer.run("--help")
    assert helped.returncode == 0
    assert all(name in helped.stdout for name in (*COMMANDS, "--workdir", "--port", "latest"))
    assert heavy_imports("-m", "viewer", "--help") == set()
    for command in COMMANDS:
        assert viewer.run(command, "--help").returncode == 0


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--port", "0"], "from 1 to 65535"),
        (["--workdir", "missing"], "no folder missing"),
        (["--host", "no.such.host.invalid"], "--host"),
        (["show"], "EPISODE"),
        (["show", "yesterday"], "no episode 'yesterday' in game_files: known: played"),
        (["show", "lates"], "no episode 'lates' in game_files: did you mean 'latest'?"),
        (["show", "played", "--turns", "9-3"], "not a range of turns"),
        (["show", "played", "--turns", "99"], "played has 12 turns"),
        (["map", "played", "-o", "map.gif"], "'map.gif' does not end with .svg"),
        (["plot", "latest", "nobody", "-o", "plot.png"], "no episode 'nobody'"),
        (["export"], "the following arguments are required: DIR (--help"),
        (["export", "game_files"], "neither empty nor an earlier export"),
        (["export", "site", "nobody"], "no episode 'nobody'"),
        (["--config", "missing.toml", "show", "latest"], "missing.toml"),
    ],
)
def test_wrong_use_ends_with_2_and_a_line_that_says_why(
    viewer: Program, flags: list[str], hint: str
) -> None:
    done = viewer.run(*flags)
    assert done.returncode == 2
    assert "error:" in done.stderr
    assert hint in done.stderr
    assert not (viewer.folder / "site").exists()


def test_an_export_that_was_killed_before_its_page_was_whole_is_made_again(
    viewer: Program, tmp_path: Path
) -> None:
    site = tmp_path / "killed"
    site.mkdir()
    (site / ".index.html.0123456789abcdef.tmp").write_text("<!doct")
    assert viewer.run("export", str(site)).returncode == 0
    assert [it.name for it in site.iterdir() if "index.html" in it.name] == ["index.html"]


def test_without_any_episode_it_says_what_to_do(viewer: Program, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = viewer.run("show", "latest", "--workdir", "empty")
    assert (done.returncode, "play one" in done.stderr) == (2, True)


def test_a_failure_ends_with_1(viewer: Program) -> None:
    done = viewer.run("map", "latest", "-o", "/dev/null/map.svg")
    assert done.returncode == 1
    assert "error: /dev/null/map.svg: Not a directory" in done.stderr


def test_an_episode_is_printed_for_reading(viewer: Program) -> None:
    done = viewer.run("show", "latest")
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout
    assert re.findall(r"^Turn (\d+) · ", shown, re.MULTILINE) == [*map(str, range(1, TURNS + 1))]
    for text in (
        "The Weatherworks (engine bocfel, seed 7)",
        "Weather does not simply happen.",
        ">  take watering can",
        "Taken.",
        "Line 5 says so.",
        "Reflection on turns 1 to 8",
        "Turn limit reached",
        "score   5 of 100",
        "--resume played",
    ):
        assert text in shown
    assert shown.count("Turn limit reached") == 1


def test_a_range_of_turns_is_printed_alone(viewer: Program) -> None:
    for given, turns in (("3-5", ["3", "4", "5"]), ("11-", ["11", "12"]), ("7", ["7"])):
        shown = viewer.run("show", "played", "--turns", given).stdout
        assert re.findall(r"^Turn (\d+) · ", shown, re.MULTILINE) == turns
        assert "Weather does not simply happen." not in shown  # the opening
    assert "Turn 7 · Potting Shed · 2/100" in shown


def test_a_damaged_log_is_printed_as_far_as_it_goes(viewer: Program) -> None:
    folder = viewer.folder / "game_files" / "episodes" / "played"
    append(folder, b"\0\n", b'{"event_type": "mcp_tool_result"}\n', b'{"event_type": "turn"}\n')
    done = viewer.run("show", "played")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("of the log is damaged") == 2
    assert "A mcp_tool_result in the log cannot be shown." in done.stdout
    assert "Turn 12 · " in done.stdout


def test_a_terminal_gets_colours_unless_plain_is_asked_for(viewer: Program) -> None:
    for flags, coloured in (([], True), (["--plain"], False)):
        with terminal() as (device, read_all):
            process = viewer.start("show", "latest", "--turns", "1", *flags, stdout=device)
            os.close(device)
            output = read_all()
            assert process.wait(timeout=PATIENCE) == 0
            assert process.stderr is not None
            process.stderr.close()
        assert ("\x1b[" in output) == coloured


def test_a_terminal_shows_how_far_logs_are_read_and_what_is_piped_stays_clean(
    viewer: Program,
) -> None:
    with terminal() as (device, read_all):
        process = viewer.start("export", "site", stderr=device)
        os.close(device)
        shown = read_all()
        output, _ = process.communicate(timeout=PATIENCE)
    assert re.search("Reading 1 episode.*━.*0 %", shown)
    assert kept_by_terminal(shown.replace("\r\n", "\n")).strip() == ""
    assert output.startswith("1 episode in ")
    assert "\x1b" not in output
    assert "Reading" not in viewer.run("export", "site").stderr


def test_a_closed_pipe_ends_it_without_a_word(viewer: Program) -> None:
    with unread() as pipe, viewer.start("show", "latest", stdout=pipe) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (141, "")


@pytest.mark.soak
def test_without_matplotlib_it_says_in_a_line_how_to_get_it(viewer: Program) -> None:
    (viewer.folder / "matplotlib.py").write_text("raise ModuleNotFoundError")
    viewer.warm = ()
    for command in (["map", "played", "-o", "map.svg"], ["plot", "played", "-o", "plot.png"]):
        done = viewer.run(*command)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "uv sync --extra plot" in done.stderr
    assert viewer.run("map", "played", "-o", "map.mmd").returncode == 0


def test_the_map_is_drawn_or_written_as_text(viewer: Program) -> None:
    for name in ("map.svg", "map.png", "map.mmd"):
        assert viewer.run("map", "latest", "-o", f"drawn/maps/{name}").returncode == 0
    folder = viewer.folder / "drawn/maps"
    drawn = (folder / "map.svg").read_text()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")  # noqa: S314  we wrote it
    assert "Cliff Path" in drawn, "as a comment beside its outlines"
    assert (folder / "map.png").read_bytes().startswith(PNG)
    text = (folder / "map.mmd").read_text()
    assert text.startswith("flowchart")
    assert "Cliff Path" in text


def test_a_drawn_map_names_the_ways_that_a_plan_cannot_show(tmp_path: Path) -> None:
    rooms = [{"id": n, "name": f"Room {n}", "x": 0, "y": n, "level": 0} for n in (1, 2)]
    way = {"from": 1, "to": 2, "one_way": True, "random": False}
    passages = [{**way, "direction": direction} for direction in ("up", "north")]
    from viewer.drawing import draw_map  # matplotlib takes a second in every worker

    draw_map({"rooms": rooms, "passages": passages}, "A house", tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text()
    assert "<!-- up -->" in drawn
    assert "<!-- north -->" not in drawn, "an arrow to the north says so"
    assert "<!-- an arrow: one way so far" in drawn


def test_scores_of_several_episodes_are_drawn_in_one_picture(viewer: Program) -> None:
    events = log_of(recorded(viewer.folder / "game_files", "another"))
    begun = {"model": "", "player": "random"}
    changed = [{**it, **begun} if it["event_type"] == "episode_start" else it for it in events]
    write_log(viewer.folder / "game_files" / "episodes" / "another", changed)
    done = viewer.run("plot", "played", "another", "-o", "plot.svg")
    assert done.returncode == 0
    drawn = (viewer.folder / "plot.svg").read_text()
    assert "played (default)" in drawn
    assert "another (random)" in drawn, "no model was asked"
    assert viewer.run("plot", "latest", "-o", "plot.png").returncode == 0
    assert (viewer.folder / "plot.png").read_bytes().startswith(PNG)


def test_the_same_episode_gives_the_same_picture(viewer: Program) -> None:
    for name in ("a.svg", "b.svg"):
        viewer.run("plot", "latest", "-o", name)
    assert (viewer.folder / "a.svg").read_bytes() == (viewer.folder / "b.svg").read_bytes()


def test_an_episode_is_found_by_its_folder_and_by_its_name_alone(viewer: Program) -> None:
    folder = recorded(viewer.folder / "evaluation" / "whole" / "seed-1", "e1")
    for wanted in (str(folder), "e1", "whole~seed-1~e1", "latest"):
        done = viewer.run("--workdir", "evaluation", "show", wanted, "--turns", "2")
        assert done.returncode == 0
    outside = viewer.run("show", str(folder), "--turns", "2")
    assert outside.returncode == 0


def test_what_is_exported_is_what_is_served(viewer: Program) -> None:
    folder = viewer.folder / "game_files" / "episodes" / "played"
    tool = {"name": "a.b", "arguments": {}, "is_error": False, "duration_ms": 1.5}
    events = log_of(folder)
    for event in events:
        if event["event_type"] == "turn" and event["turn"] == 3:
            event["tools"] = [{**tool, "result": "long" * 2000}]
    write_log(folder, events)
    done = viewer.run("export", "site")
    assert done.returncode == 0
    site = viewer.folder / "site"
    files = [path for path in site.rglob("*") if path.is_file()]
    assert f"1 episode in {len(files)} files: site" in done.stdout
    assert "python -m http.server --directory site" in done.stdout
    with served(viewer.folder / "game_files") as client:
        for file in files:
            path = file.relative_to(site).as_posix()
            if path == "index.html":
                assert file.read_bytes() == page("static")
                continue
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert file.read_bytes() == answer.content, path
    assert {"index.html", "episode.json", "0.json", "3-0.json", "episodes.json"} <= {
        it.name for it in files
    }


def test_an_export_works_from_a_plain_file_server(viewer: Program) -> None:
    viewer.run("export", "site", "latest")
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=viewer.folder / "site"
    )
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]  # not into the test's output
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            base = f"http://127.0.0.1:{server.server_port}/"
            with httpx2.Client(base_url=base, trust_env=False) as client:
                assert 'content="static"' in client.get("").text
                (row,) = client.get("data/episodes.json").json()["episodes"]
                turns = client.get(f"data/{row['id']}/turns/0.json").json()
                assert len(turns) == row["turns"] == TURNS
        finally:
            server.shutdown()


def test_an_export_replaces_an_earlier_one_and_nothing_else(viewer: Program) -> None:
    recorded(viewer.folder / "game_files", "another")
    site = viewer.folder / "site"
    assert viewer.run("export", "site").returncode == 0
    (site / "CNAME").write_text("example.org")
    assert viewer.run("export", "site", "played").returncode == 0
    assert (site / "CNAME").read_text() == "example.org"
    assert sorted(path.name for path in (site / "data").iterdir()) == ["episodes.json", "played"]
    other = viewer.folder / "other"
    (other / "data").mkdir(parents=True)
    (other / "data" / "mine.txt").write_text("mine")
    assert viewer.run("export", "other").returncode == 2
    assert viewer.run("export", "other", "--force").returncode == 0
    assert (other / "data" / "mine.txt").read_text() == "mine"


def test_an_export_writes_nowhere_else(viewer: Program) -> None:
    outside = viewer.folder / "outside"
    site = viewer.folder / "site"
    outside.mkdir()
    site.mkdir()
    (site / "data").symlink_to(outside)
    done = viewer.run("export", "site", "--force")
    assert done.returncode == 2
    assert "leads outside" in done.stderr
    assert list(outside.rglob("*")) == []


def address_in(line: str) -> str:
    found = re.search(r"http://\S+", line)
    assert found is not None, line
    return found[0]


def test_it_serves_until_it_is_interrupted_even_with_open_streams(viewer: Program) -> None:
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        process = viewer.start("--no-open")
        assert process.stdout is not None
        address = address_in(process.stdout.readline())
        with (
            entered(address, timeout=30) as client,
            client.stream("GET", "data/played/stream") as response,
        ):
            assert next(response.iter_lines()).startswith("retry")
            process.send_signal(number)
            output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (code, "", "")
    assert viewer.leftovers() == []


def test_a_port_that_is_taken_is_passed_over_unless_it_was_asked_for(viewer: Program) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = viewer.run("--port", str(port))
        assert done.returncode == 2
        assert f"Port {port} is already taken by another program: choose another" in done.stderr
        assert "--port" in done.stderr
    first, second = viewer.start(), viewer.start()
    try:
        assert first.stdout is not None
        assert second.stdout is not None
        printed = (address_in(it.readline()) for it in (first.stdout, second.stdout))
        assert len({address.partition("#")[0] for address in printed}) == 2
    finally:
        for process in (first, second):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)


def test_the_work_folder_is_the_configured_one(viewer: Program) -> None:
    (viewer.folder / "game_files").rename(viewer.folder / "elsewhere")
    viewer.configure('[tool.zorkgpt.game]\nworkdir = "elsewhere"\n')
    assert viewer.run("show", "latest", "--turns", "1").returncode == 0
    viewer.env["ZORKGPT_WORKDIR"] = "nowhere"
    assert viewer.run("show", "latest").returncode == 2


def test_a_server_for_the_network_says_in_a_line_what_it_opens(viewer: Program) -> None:
    process = viewer.start("--no-open", "--host", "0.0.0.0")  # noqa: S104  for a moment
    assert process.stdout is not None
    assert "at http://127.0.0.1:" in process.stdout.readline()
    assert process.stdout.readline().startswith("Open to the network: ")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
