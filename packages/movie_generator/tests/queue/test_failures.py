"""What fails: now, for good, or to be tried again later."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from mcp_ghost.errors import LLMConnectionError, LLMStatusError, MCPServerStartupError
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, error_reply, tool_reply
from movie_generator import generate_script_from_url_with_agent
from movie_generator.checkpoints import Store
from movie_generator.errors import PageError, ScriptError
from movie_generator.generate import generate_as_configured
from movie_generator.models import VideoScript
from movie_generator.pages.results import sounds_passing
from movie_generator.queue import failures
from movie_generator.queue.failures import Failure
from movie_generator.queue.jobs import Job, JobQueue
from movie_generator.queue.work import Generate, Progress
from movie_generator.queue.worker import Worker
from tests.support.movie import script_reply, site
from tests.support.processes.movie_worker import script

PAGE = {"/page": ("text/html", b"<title>Bridges</title><p>A bridge crosses a river.</p>")}


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[JobQueue]:
    with closing(JobQueue(f"sqlite:///{tmp_path / 'jobs.db'}", max_attempts=3)) as queue:
        yield queue


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses between attempts."""
    monkeypatch.setattr(failures, "FIRST_PAUSE", 0.001)


def drained(queue: JobQueue, generate: Generate, url: str = "http://site.test/page") -> Job:
    """The job for ``url`` when all work is done."""
    ((job_id, _),) = queue.enqueue([url])

    async def run() -> None:
        async with asyncio.timeout(60):
            await Worker(queue, generate, poll=0.01).run(drain=True)

    asyncio.run(run())
    return queue.job(job_id)


def failing(*errors: Exception) -> Generate:
    """Fails in these ways, then succeeds."""
    left = list(errors)

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        await store.save(f"step {len(left)}", "kept")
        if left:
            raise left.pop(0)
        return script(" ".join(sorted(await store.load())))

    return generate


def passing(reason: str, *, starts_over: bool = False) -> PageError:
    error = PageError(reason)
    error.passes, error.starts_over = True, starts_over
    return error


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (LLMStatusError("busy", 429), "step 0 step 1"),
        (LLMStatusError("down", 503), "step 0 step 1"),
        (LLMConnectionError("no complete answer"), "step 0 step 1"),
        (passing("The page could not be read within 30 s."), "step 0 step 1"),
        (MCPServerStartupError("it did not answer within 60 s"), "step 0 step 1"),
        (passing("The agent read nothing.", starts_over=True), "step 0"),
    ],
)
def test_what_may_pass_is_tried_again_and_keeps_what_did_not_lead_to_it(
    queue: JobQueue, error: Exception, kept: str
) -> None:
    job = drained(queue, failing(error))
    assert (job.status, job.attempts, job.error_message) == ("completed", 2, None)
    assert VideoScript.model_validate_json(job.result or "").title == kept
    assert job.next_attempt_at is None


@pytest.mark.parametrize(
    "error",
    [
        LLMStatusError("no such model", 404),
        LLMStatusError("no credit", 402),
        PageError("http://site.test/page answered 404 Not Found."),
        ScriptError("no usable script"),
        MCPServerStartupError("no such command"),
        ValueError("an error of ours"),
    ],
)
def test_what_does_not_pass_fails_at_once(queue: JobQueue, error: Exception) -> None:
    job = drained(queue, failing(error))
    assert (job.status, job.attempts, job.error_message) == ("failed", 1, str(error))


@pytest.mark.usefixtures("impatient")
def test_after_the_last_attempt_a_job_has_failed_and_a_retry_goes_on_from_what_is_kept(
    queue: JobQueue,
) -> None:
    generate = failing(*(LLMStatusError("busy", 503) for _ in range(3)))
    job = drained(queue, generate)
    assert (job.status, job.attempts) == ("failed", 3)
    assert job.error_message == "busy. Given up after 3 attempts."
    queue.retry(job.id)
    job = drained(queue, generate)
    assert (job.status, job.attempts) == ("completed", 1)
    title = VideoScript.model_validate_json(job.result or "").title
    assert title == "step 0 step 1 step 2 step 3"


def test_a_job_that_waits_is_pending_and_says_why_and_until_when(queue: JobQueue) -> None:
    queue.enqueue(["http://site.test/page"])
    claim = queue.claim("worker")
    assert claim
    assert queue.put_off(claim, "busy", 3600)
    (job,) = queue.jobs()
    assert (job.status, job.error_message, job.attempts) == ("pending", "busy", 1)
    assert job.next_attempt_at is not None
    assert 3500 < (job.next_attempt_at - job.created_at).total_seconds() < 3700
    assert queue.claim("worker") is None
    unfinished, seconds = queue.outlook()
    assert unfinished == 1
    assert 3500 < (seconds or 0) < 3700
    queue.cancel(job.id)
    queue.retry(job.id)
    assert queue.claim("worker") is not None


def test_pauses_grow_up_to_a_bound_and_are_never_shorter_than_asked_for() -> None:
    pauses = [[Failure("x").pause(attempts) for _ in range(50)] for attempts in range(1, 10)]
    for shorter, longer in itertools.pairwise(pauses[:5]):
        assert max(shorter) < min(longer)
    assert len({*pauses[0]}) > 1
    assert max(map(max, pauses)) < 1.3 * failures.LONGEST_PAUSE
    assert Failure("x", retry_after=100).pause(1) == 100
    assert Failure("x", retry_after=float("inf")).pause(1) == failures.LONGEST_ASKED_PAUSE


@pytest.mark.parametrize(
    ("reason", "passes"),
    [
        ("Failed to fetch https://a.test - status code 503", True),
        ("Request failed with HTTP/1.1 429 Too Many Requests", True),
        ("Error: 502 Bad Gateway", True),
        ("it timed out after 30 s", True),
        ("read ECONNRESET: connection reset by peer", True),
        ("Failed to fetch https://a.test - status code 404", False),
        ("robots.txt answered 503. Try again later", True),
        ("no such page", False),
        ("error in line 503", False),
        ("https://a.test/500 is not a page", False),
    ],
)
def test_a_tools_words_tell_whether_its_failure_may_pass(reason: str, passes: bool) -> None:
    assert sounds_passing(reason) is passes


@pytest.mark.usefixtures("impatient")
def test_the_page_and_the_model_are_asked_again_when_they_say(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    put_off = queue.put_off

    def soon(*arguments: object, **options: bool) -> bool:
        claim, message, pause = arguments
        assert isinstance(pause, float)
        waited.append(pause)
        return put_off(claim, message, 0.0, **options)  # type: ignore[arg-type]  # as it came

    def model_script(request: ModelRequest) -> Reply | str:
        busy = error_reply(429, "slow down", {"Retry-After": "77"})
        return script_reply() if len(model.requests) > 1 else busy

    monkeypatch.setattr(queue, "put_off", soon)
    monkeypatch.setenv("MOVIE_ALLOW_PRIVATE_URLS", "1")
    with site(dict(PAGE)) as served, ModelServer(model_script) as model:
        served.faults["/page"] = [(503, {"Retry-After": "55"})]
        monkeypatch.setenv("OPENROUTER_BASE_URL", model.base_url)
        job = drained(queue, generate_as_configured, served.url + "/page")
        assert (job.status, job.attempts) == ("completed", 3)
        assert waited == [55.0, 77.0]
        assert (served.asked.count("/page"), len(model.requests)) == (2, 2)


@pytest.mark.parametrize(
    ("reason", "passes"), [("status code 503", True), ("the page is behind a login", False)]
)
def test_when_nothing_was_read_the_reason_of_the_tool_is_told(reason: str, passes: bool) -> None:
    server = MCPServer("reader")

    @server.tool()
    def fetch(url: str) -> str:
        """Fail."""
        raise ToolError(reason)

    replies: list[Reply | str] = [
        tool_reply([("fetch", {"url": "http://pages.invalid/page"})]),
        "I cannot read it.",
    ]
    with ModelServer(replies) as model, pytest.raises(PageError) as caught:
        asyncio.run(
            generate_script_from_url_with_agent(
                "http://pages.invalid/page",
                {"mcpServers": {"reader": server}},
                base_url=model.base_url,
                allow_private_urls=True,
            )
        )
    failure = Failure.of(caught.value)
    assert (failure.passes, failure.starts_over) == (passes, True)
    assert "It said: I cannot read it." in failure.reason
    assert f"Tools that failed: fetch: Error executing tool fetch: {reason}" in failure.reason
    assert "\n" not in failure.reason
