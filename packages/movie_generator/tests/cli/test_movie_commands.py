"""The command line of the queue, mostly as a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from mcp_ghost.config import load_servers
from movie_generator import __version__
from movie_generator.cli import commands
from movie_generator.cli.flags import parse_flags
from movie_generator.errors import SettingsError
from movie_generator.models import VideoScript
from movie_generator.queue.jobs import Claim, JobQueue
from movie_generator.settings import AppConfig
from tests.support import PATIENCE, ROOT
from tests.support.processes.movie_worker import script
from tests.support.program import killed_at_last, unread
from tests.support.warm import WarmPopen

PAGE = "http://8.8.8.8/page"
NOWHERE = "http://127.0.0.1:9/page"


def environment(**values: str) -> dict[str, str]:
    ours = ("MOVIE_", "MCP_CONFIG_PATH", "CONFIG_PATH", "OPENROUTER_")
    kept = {key: it for key, it in os.environ.items() if not key.startswith(ours)}
    return {**kept, "PYTHONPATH": str(ROOT), "OPENROUTER_API_KEY": "none", **values}


def start(*flags: str, **values: str) -> subprocess.Popen[str]:
    return started(flags, values, subprocess.PIPE)


def started(flags: Sequence[str], values: Mapping[str, str], output: int) -> subprocess.Popen[str]:
    return WarmPopen(
        [sys.executable, "-m", "movie_generator", *flags],
        env=environment(**values),
        stdout=output,
        stderr=subprocess.PIPE,
    )


def run(*flags: str, **values: str) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    process = start(*flags, **values)
    with killed_at_last(process):
        output, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors
    return process.returncode, output, errors


def do(*words: str) -> None:
    """A command, in this process."""
    flags = parse_flags(words)
    getattr(commands, flags.command)(flags)


@pytest.fixture
def queue() -> Iterator[JobQueue]:
    """The queue that the commands find in this folder."""
    with closing(JobQueue("sqlite:///movie_jobs.db")) as queue:
        yield queue


def claimed(queue: JobQueue, url: str = PAGE) -> Claim:
    queue.enqueue([url], again=True)
    claim = queue.claim("worker")
    assert claim
    return claim


def test_help_names_every_command_and_loads_no_database() -> None:
    code, output, _ = run("--help")
    assert code == 0
    for command in ("enqueue", "worker", "jobs", "cancel", "retry", "prune", "result"):
        assert f"    {command} " in output
    assert f"{'':24}*.example.org\n" in output  # nothing is too long for 80 columns
    loaded = "import sys, movie_generator.cli.flags; print('sqlalchemy' in sys.modules)"
    printed = subprocess.check_output([sys.executable, "-c", loaded], env=environment(), text=True)
    assert printed == "False\n"
    assert run("--version")[:2] == (0, f"movie-generator {__version__}\n")


def test_urls_are_queued_and_listed_as_json() -> None:
    unresolved = "http://name.invalid/猫?q=1"
    code, output, errors = run("enqueue", f" {PAGE}\r", unresolved, unresolved)
    assert (code, output) == (0, "1\n2\n2\n")
    assert errors.count("warning: The host name.invalid was not found: N") == 1  # no error's number
    code, output, _ = run("jobs", "--json")
    assert code == 0
    first, second = json.loads(output)
    assert first == {
        "id": "1",
        "url": PAGE,
        "status": "pending",
        "progress": 0,
        "progress_message": None,
        "error_message": None,
        "result": None,
        "result_format": None,
        "attempts": 0,
        "next_attempt_at": None,
        "worker": None,
        "lease_until": None,
        "created_at": first["created_at"],
        "started_at": None,
        "finished_at": None,
    }
    assert first["created_at"].endswith("+00:00")
    assert (second["id"], second["url"]) == ("2", "http://name.invalid/猫?q=1")


@pytest.mark.parametrize("url", [NOWHERE, "http://[::1]/", "ftp://8.8.8.8/", "page.html"])
def test_urls_that_are_refused_are_not_queued_nor_are_those_beside_them(
    queue: JobQueue, url: str
) -> None:
    code, output, errors = run("enqueue", PAGE, url)
    assert (code, output) == (2, "")
    assert errors.startswith("movie-generator: error: ")
    assert queue.jobs() == []


def test_private_urls_are_queued_and_worked_on_only_where_that_is_allowed(queue: JobQueue) -> None:
    assert run("enqueue", NOWHERE, MOVIE_ALLOW_PRIVATE_URLS="1")[:2] == (0, "1\n")
    code, _, errors = run("worker", "--drain", OPENROUTER_API_KEY="none")
    assert code == 0
    assert "job 1 failed: 127.0.0.1 is an address inside" in errors
    assert queue.job(1).status == "failed"
    assert "MOVIE_ALLOW_PRIVATE_URLS=1" in str(queue.job(1).error_message)


def test_a_worker_without_a_key_ends_before_it_takes_a_job(queue: JobQueue) -> None:
    ((job_id, _),) = queue.enqueue(["https://pages.invalid/"])
    others = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "")
    code, _, errors = run("worker", "--drain", OPENROUTER_API_KEY="", **others)
    assert code == 2
    assert "No API key: set OPENROUTER_API_KEY" in errors
    assert queue.job(job_id).status == "pending"
    assert queue.job(job_id).attempts == 0


def test_a_script_is_exported(tmp_path: Path) -> None:
    script("Bridges").save(tmp_path / "s.yaml")
    code, out, _ = run("export", str(tmp_path / "s.yaml"), "--format", "srt")
    assert code == 0
    assert out == "1\n00:00:00,000 --> 00:00:00,500\nHello.\n\n"
    code, _, errors = run("export", str(tmp_path / "s.yaml"), "-o", str(tmp_path / "s.yaml"))
    assert code == 2
    assert "is the script itself" in errors


@pytest.mark.parametrize(
    ("flags", "number", "code"),
    [
        (["worker"], signal.SIGTERM, 0),
        (["worker", "--concurrency", "3"], signal.SIGINT, 0),
        (["worker", "--drain"], signal.SIGTERM, 143),
    ],
)
def test_an_idle_worker_stops_when_asked(
    queue: JobQueue, flags: list[str], number: signal.Signals, code: int
) -> None:
    claimed(queue)  # by somebody else, for the next minute
    worker = start(*flags)
    with killed_at_last(worker):
        assert worker.stderr
        assert "waits for jobs" in worker.stderr.readline()
        worker.send_signal(number)
        _, errors = worker.communicate(timeout=PATIENCE)
    assert (worker.returncode, "Traceback" in errors) == (code, False)


def test_the_table_shows_what_is_most_interesting(
    queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    queue.fail(claimed(queue), "The page [bold]is\x1b[31m gone.")
    queue.keep(claimed(queue), 0.25, "reading the page")
    queue.enqueue([PAGE + "/long" * 40])
    do("jobs")
    head, failed, processing, pending = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "status", "done", "url", "what"]
    assert failed.split(maxsplit=4)[1:] == ["failed", "0%", PAGE, "The page [bold]is gone. "]
    assert processing.split()[1:] == ["processing", "25%", PAGE, "reading", "the", "page"]
    assert PAGE + "/long" * 40 in pending
    do("jobs", "--status", "cancelled")
    assert capsys.readouterr().out == "There are no cancelled jobs.\n"


@pytest.mark.parametrize("flags", [["jobs"], ["jobs", "--json"]])
def test_a_reader_that_stops_reading_ends_the_list_in_silence(
    queue: JobQueue, flags: list[str]
) -> None:
    queue.enqueue([PAGE])
    with unread() as pipe, started(flags, {}, pipe) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (128 + signal.SIGPIPE, "")


def test_jobs_are_cancelled_and_retried(
    queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    queue.enqueue([PAGE, PAGE], again=True)
    do("cancel", "1", "2")
    assert capsys.readouterr().out == "job 1 cancelled\njob 2 cancelled\n"
    do("retry", "2")
    assert [job.status for job in queue.jobs()] == ["cancelled", "pending"]


def test_a_job_that_cannot_be_moved_does_not_keep_the_others_back(queue: JobQueue) -> None:
    queue.enqueue([PAGE, PAGE], again=True)
    code, output, errors = run("cancel", "1", "99", "2")
    assert (code, output) == (1, "job 1 cancelled\njob 2 cancelled\n")
    assert errors.startswith("movie-generator: error: There is no job 99.")
    queue.retry(1)
    code, output, errors = run("retry", "1", "2")
    assert (code, output) == (1, "job 2 pending\n")
    assert "The status of job 1 is pending; only failed and cancelled" in errors


def test_the_same_url_is_one_job_unless_it_is_wanted_again(
    queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    do("enqueue", PAGE, PAGE, PAGE.upper().replace("/PAGE", "/page"))
    output, errors = capsys.readouterr()
    assert output == "1\n1\n1\n"
    assert "job 1 (pending) already has this URL; --again makes a new one" in errors
    queue.cancel(1)
    do("enqueue", PAGE)
    assert (
        "job 1 (cancelled) already has this URL; retry 1 does it again" in capsys.readouterr().err
    )
    do("enqueue", PAGE, PAGE, "--again")
    assert capsys.readouterr().out == "2\n3\n"
    assert [job.url for job in queue.jobs()] == [PAGE] * 3


def test_what_was_finished_long_ago_is_deleted_and_nothing_else(
    queue: JobQueue, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.keep_step(claimed(queue), "a step", "kept")
    queue.cancel(1)
    queue.complete(claimed(queue), script("done").model_dump_json())
    assert queue.fail(failed := claimed(queue), "busy", forget=False)
    assert queue.keep_step(claimed(queue), "a step", "kept")
    queue.enqueue([PAGE], again=True)
    with pytest.raises(SettingsError, match="--days N, or set MOVIE_KEEP_DAYS"):
        do("prune")
    monkeypatch.setenv("MOVIE_KEEP_DAYS", "1")
    do("prune")
    do("prune", "--days", "0")
    assert capsys.readouterr().out == "0 jobs deleted\n3 jobs deleted\n"
    assert [job.status for job in queue.jobs()] == ["processing", "pending"]
    assert queue.steps(failed) == {}
    assert queue.steps(Claim(queue.job(4), "")) == {"a step": "kept"}
    do("enqueue", "http://8.8.8.8/other")
    assert capsys.readouterr().out == "6\n"


def test_watching_shows_each_change_until_all_jobs_are_finished(
    queue: JobQueue, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(queue)
    looks: list[Callable[[], object]] = [
        lambda: queue.keep(claim, 0.5, "reading"),
        lambda: queue.put_off(claim, "busy", 60),
        lambda: queue.cancel(1),
    ]
    monkeypatch.setattr(time, "sleep", lambda _: looks.pop(0)())
    do("jobs", "--watch")
    assert capsys.readouterr().out.splitlines() == [
        f"job 1 processing {PAGE}",
        f"job 1 processing {PAGE} reading",
        f"job 1 pending {PAGE} attempt 2: busy",
        f"job 1 cancelled {PAGE} busy",
    ]


def test_watching_that_is_interrupted_is_not_watching_to_the_end(queue: JobQueue) -> None:
    queue.enqueue([PAGE])
    watching = start("jobs", "--watch")
    with killed_at_last(watching):
        assert watching.stdout
        assert "job 1 pending" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=PATIENCE)
    assert (watching.returncode, errors) == (130, "")


def test_results_are_read_only_where_they_are_shown(
    queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    queue.complete(claimed(queue), script("done").model_dump_json())
    asked: list[str] = []
    note = lambda *given: asked.append(given[2])  # noqa: E731
    event.listen(Engine, "before_cursor_execute", note)
    try:
        do("jobs")
        do("jobs", "--watch")
        assert "completed" in capsys.readouterr().out
        assert not re.search(r"\.result\b", " ".join(asked))
        do("jobs", "--json")
        assert re.search(r"\.result\b", " ".join(asked))
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_on_a_terminal_the_watched_jobs_are_one_table(
    queue: JobQueue, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.complete(claimed(queue), script("done").model_dump_json())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    do("jobs", "--watch")
    shown = capsys.readouterr().out
    assert "1 completed" in shown
    assert PAGE in shown


def test_a_result_is_shown_and_saved(
    queue: JobQueue, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = script("猫の動画 \N{ZERO WIDTH NON-JOINER}")
    queue.complete(claimed(queue), expected.model_dump_json())
    do("result", "1")
    assert capsys.readouterr().out == expected.to_yaml()
    for name in ("script.yaml", "script.json"):
        do("result", "1", "-o", name)
        assert VideoScript.load(tmp_path / name) == expected
    with pytest.raises(SettingsError, match="it is a folder"):
        do("result", "1", "-o", ".")
    do("jobs", "--json", "--status", "completed")
    (job,) = json.loads(capsys.readouterr().out)
    assert job["result"] == expected.model_dump()


def test_a_job_without_a_result_says_why(queue: JobQueue) -> None:
    queue.fail(claimed(queue), "The page is gone.")
    code, output, errors = run("result", "1")
    assert (code, output) == (1, "")
    assert "Job 1 has no script; its status is failed: The page is gone." in errors
    code, output, errors = run("result", "7")
    assert (code, output) == (1, "")
    assert "There is no job 7." in errors


@pytest.mark.parametrize(
    ("flags", "values", "complaint"),
    [
        (["jobs"], {"MOVIE_DATABASE_URL": "sqlite:////nowhere/jobs.db"}, "unable to open"),
        (["worker"], {"MOVIE_JOB_LEASE": "soon"}, "MOVIE_JOB_LEASE is 'soon'"),
        (["worker"], {"MOVIE_DATABASE_WAIT": "-1"}, "MOVIE_DATABASE_WAIT is '-1'"),
        ([PAGE, "-o", "one.yaml"], {}, "for one page: movie-generator script URL"),
        (["cancel", "one"], {}, "'one' is not a whole number"),
        (["worker", "--concurrency", "0"], {}, "must be from 1 to 1000, not '0'"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_is_wrong(
    flags: list[str], values: dict[str, str], complaint: str
) -> None:
    code, output, errors = run(*flags, **values)
    assert (code, output) == (2, "")
    assert complaint in errors


def test_a_dotenv_in_another_encoding_is_named_in_one_line() -> None:
    Path(".env").write_bytes("MOVIE_JOB_LEASE=60  # für alle".encode("latin-1"))
    assert run("jobs") == (
        2,
        "",
        "movie-generator: error: Cannot read .env: it is not UTF-8. Save it as UTF-8.\n",
    )


def test_init_writes_both_files_once_and_never_over_others() -> None:
    assert run("init") == (0, "config.yaml\nmcp.jsonc\n", "")
    assert AppConfig.load("config.yaml") == AppConfig()
    assert [*load_servers("mcp.jsonc", lenient=True)] == ["fetch", "firecrawl", "brave-search"]
    Path("config.yaml").unlink()
    Path("mcp.jsonc").write_text("mine")
    code, out, errors = run("init")
    assert (code, out) == (2, "")
    assert "mcp.jsonc already exists; nothing was written" in errors
    assert Path("mcp.jsonc").read_text() == "mine"
    assert not Path("config.yaml").exists()
