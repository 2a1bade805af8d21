"""Langfuse traces: one for each turn, in one session for the episode.

Tracing never stops a game and never slows it: what a client raises is only logged, spans are sent
by a thread of their own, and the end of an episode waits for that thread only briefly.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import SettingsConfigDict

from mcp_ghost.redact import Redactor, redact
from session.configuration_file import EnvironmentSettings
from session.events import log_event
from session.version import version

if TYPE_CHECKING:
    from langfuse import Langfuse
    from langfuse.types import MaskOtelSpansParams
    from opentelemetry.sdk.trace import TracerProvider

    from mcp_ghost.messages import LLMResponse

_Result = TypeVar("_Result")

UNREACHABLE = "Langfuse is unreachable: traces of this episode are not sent"
_FLUSH_SECONDS = 2.0
"""How long the end of an episode waits for the last traces to be sent."""
_FLUSH_SECONDS_AFTER_FAILURE = 0.3


class LangfuseSettings(EnvironmentSettings):
    """Langfuse's own variables, from the environment or .env."""

    model_config = SettingsConfigDict(
        env_prefix="LANGFUSE_", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    public_key: str = ""
    secret_key: SecretStr = SecretStr("")
    base_url: str = Field(
        default="https://cloud.langfuse.com",
        validation_alias=AliasChoices("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
    )
    tracing_enabled: bool = True
    tracing_environment: str | None = None
    sample_rate: float = Field(default=1.0, ge=0.0, le=1.0)
    """Share of the traces that are sent."""


class Span:
    """What is traced of the work inside it; it never raises."""

    def __init__(self, span: Any, logger: logging.Logger) -> None:  # noqa: ANN401  Langfuse's own
        """``span`` is None where nothing is traced."""
        self._span = span
        self._logger = logger

    def update(self, **fields: Any) -> None:  # noqa: ANN401  whatever Langfuse takes
        """Set ``input``, ``output``, ``metadata`` and the like."""
        if self._span is not None:
            _unless_it_raises(lambda: self._span.update(**fields), self._logger)


def observed(
    client: Any,  # noqa: ANN401  Langfuse's, or whatever stands in for it
    logger: logging.Logger,
    **fields: Any,  # noqa: ANN401  whatever Langfuse takes
) -> AbstractContextManager[Span]:
    """Return an observation of ``client`` around the work inside; none without a client."""
    if client is None:
        return nullcontext(Span(None, logger))
    return _guarded(lambda: client.start_as_current_observation(**fields), logger)


def of_reply(response: LLMResponse) -> dict[str, Any]:
    """Return what a generation of Langfuse learns about ``response``."""
    usage = response.usage or {}
    cached = usage.get("cached_tokens", 0)
    calls = [
        {"name": call.function.name, "arguments": call.function.arguments}
        for call in response.tool_calls or ()
    ]
    return {
        "output": {"content": response.text, "tool_calls": calls} if calls else response.content,
        "usage_details": {
            "input": usage.get("prompt_tokens", 0) - cached,
            "cache_read_input_tokens": cached,
            "output": usage.get("completion_tokens", 0),
        }
        if usage
        else None,
        "cost_details": None if response.cost is None else {"total": response.cost},
    }


@contextmanager
def _guarded(
    start: Callable[[], AbstractContextManager[Any]], logger: logging.Logger
) -> Iterator[Span]:
    """The context that ``start`` gives, around work that no error of it reaches."""
    stack = ExitStack()
    span = _unless_it_raises(lambda: stack.enter_context(start()), logger)
    try:
        yield Span(span, logger)
    except BaseException as error:
        # A trace gets the error's type and its words, no secret and no cause.
        kind, base = type(error), Exception if isinstance(error, Exception) else BaseException
        clean = type(kind.__name__, (base,), {"__module__": kind.__module__})
        cause = (clean, clean(redact(str(error))), error.__traceback__)
        _unless_it_raises(lambda: stack.__exit__(*cause), logger)
        raise
    _unless_it_raises(stack.close, logger)


def _unless_it_raises(action: Callable[[], _Result], logger: logging.Logger) -> _Result | None:
    try:
        return action()
    except Exception as error:  # noqa: BLE001  whatever a tracer raises, the game goes on
        reason = redact(" ".join(str(error).split()))
        message = f"This step is not traced: {type(error).__name__}: {reason}"
        log_event(logger, logging.WARNING, message, "tracing_error", error=reason)
        return None


class Tracing:
    """The traces of one episode; without keys nothing is imported, sent or said."""

    def __init__(
        self,
        episode_id: str,
        logger: logging.Logger,
        *,
        wanted: bool = True,
        secrets: Iterable[str] = (),
    ) -> None:
        self.client: Langfuse | None = None
        """Langfuse's client: what it starts during a turn becomes part of the turn's trace."""
        self._episode_id = episode_id
        self._logger = logger
        self._turn = 0
        self._version = version()
        self._provider: TracerProvider | None = None
        self._secrets = frozenset(secrets)
        self._failures = _FailureWatch(
            lambda error: self._log(
                logging.WARNING, f"{UNREACHABLE} ({error})", "tracing_failed", error=error
            )
        )
        try:
            if wanted:
                self._open(LangfuseSettings())
        except Exception as error:  # noqa: BLE001  whatever Langfuse objects to, the game goes on
            reason = redact(" ".join(str(error).split()))
            self._log(logging.WARNING, f"Tracing is off: {reason}", "tracing_off", error=reason)

    def _open(self, settings: LangfuseSettings) -> None:
        keys = {
            "LANGFUSE_PUBLIC_KEY": settings.public_key,
            "LANGFUSE_SECRET_KEY": settings.secret_key,
        }
        missing = [name for name, key in keys.items() if not key]
        if not settings.tracing_enabled or len(missing) > 1:
            return
        if missing:
            self._log(logging.INFO, f"Tracing is off: {missing[0]} is not set", "tracing_off")
            return
        self.client, self._provider = _connect(settings, self._secrets)
        where = redact(settings.base_url)
        self._log(logging.INFO, f"Traces go to {where}", "tracing_on", base_url=where)

    @contextmanager
    def turn(self, number: int) -> Iterator[Span]:
        """The trace ``turn-<number>``, around everything that is traced inside."""
        self._turn = number
        if self.client is None:
            yield Span(None, self._logger)
            return
        from langfuse import propagate_attributes

        self._failures.begin()
        name = f"turn-{number}"
        attributes = partial(
            propagate_attributes,
            session_id=self._episode_id,
            trace_name=name,
            tags=["zorkgpt"],
            metadata={"turn": number},
            version=self._version,
        )
        with (
            _guarded(attributes, self._logger),
            observed(self.client, self._logger, name=name) as span,
        ):
            yield span

    def close(self) -> None:
        """Send what is left, within a bound; may be called more than once."""
        provider, self._provider = self._provider, None
        if provider is None:
            return
        # OpenTelemetry's own timeout for this has no effect, so it is done where it can be left.
        flush = threading.Thread(target=provider.force_flush, name="sends-traces", daemon=True)
        flush.start()
        seconds = _FLUSH_SECONDS_AFTER_FAILURE if self._failures.seen else _FLUSH_SECONDS
        flush.join(seconds)
        if flush.is_alive():
            self._failures.report(f"no answer within {seconds:g} s")
        self._failures.end()

    def _log(self, level: int, message: str, event_type: str, **fields: object) -> None:
        # Neither the constructor nor the thread that sends knows an event context.
        stamp = {"episode_id": self._episode_id, "turn": self._turn}
        log_event(self._logger, level, message, event_type, **stamp, **fields)


class _FailureWatch(logging.Handler):
    """Learns from OpenTelemetry's log that spans were lost, and reports it once."""

    def __init__(self, report: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self.seen = False
        self._report = report
        self._heard = threading.Lock()

    def begin(self) -> None:
        """Listen; may be called more than once."""
        logging.getLogger("opentelemetry.exporter").addHandler(self)

    def end(self) -> None:
        """Report nothing from now on: the episode's log is about to be closed."""
        logging.getLogger("opentelemetry.exporter").removeHandler(self)
        with self._heard:
            self.seen = True

    def emit(self, record: logging.LogRecord) -> None:
        self.report(record.getMessage())

    def report(self, error: str) -> None:
        with self._heard:
            if not self.seen:
                self.seen = True
                self._report(redact(error))


@cache  # Langfuse keeps one set of resources for a public key, however many clients there are
def _connect(
    settings: LangfuseSettings, secrets: frozenset[str]
) -> tuple[Langfuse, TracerProvider]:
    """Return the client of this process, and what sends its spans; nothing is sent yet."""
    for name in ("langfuse", "opentelemetry"):  # their warnings have no place on the terminal
        logging.getLogger(name).propagate = False
        logging.getLogger(name).addHandler(logging.NullHandler())

    # Half a second of imports, only for those who want traces.
    from langfuse import Langfuse
    from langfuse.types import MaskOtelSpansResult, OtelSpanPatch
    from opentelemetry.propagate import set_global_textmap
    from opentelemetry.propagators.composite import CompositePropagator
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

    secret = settings.secret_key.get_secret_value()
    redactor = Redactor({*secrets, secret})

    def mask(*, params: MaskOtelSpansParams) -> MaskOtelSpansResult:
        """Clean whatever a span holds, in the thread that sends it."""
        patches = {}
        for identifier, span in params.spans.items():
            texts = {name: it for name, it in span.attributes.items() if isinstance(it, str)}
            clean = {name: redactor(text) for name, text in texts.items()}
            patches[identifier] = OtelSpanPatch(set_attributes=clean)
        return MaskOtelSpansResult(span_patches=patches)

    # Langfuse would make its provider the global one: the MCP client would then trace into it, and
    # it would be flushed at exit without a bound.
    provider = TracerProvider(
        sampler=TraceIdRatioBased(settings.sample_rate),
        resource=Resource({"service.name": "zorkgpt"}),
        shutdown_on_exit=False,
    )
    client = Langfuse(
        public_key=settings.public_key,
        secret_key=secret,
        base_url=settings.base_url,
        environment=settings.tracing_environment,
        tracer_provider=provider,
        mask_otel_spans=mask,
    )
    if client._resources is not None:  # noqa: SLF001  there is no public way to its exit handler
        # It flushes without a bound, too; close() has done so by then.
        atexit.unregister(client._resources.shutdown)  # noqa: SLF001
    # The MCP client puts the ids of our spans into its requests to other people's servers.
    set_global_textmap(CompositePropagator([]))
    return client, provider
