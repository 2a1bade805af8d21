"""A video script from a URL: read the page, over HTTP or by an agent, then write the script."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from mcp_ghost.config import redactor_of
from mcp_ghost.errors import UrlRefusedError, UrlUnresolvedError
from mcp_ghost.guard import check_url
from mcp_ghost.loop import LoopObserver
from mcp_ghost.results import JSON
from mcp_ghost.text import address, counted
from movie_generator import prompts
from movie_generator.agent import AgentLoop
from movie_generator.checkpoints import Checkpoints, Store
from movie_generator.client import MCPClient
from movie_generator.environment import Environment
from movie_generator.errors import AgentError, PageError
from movie_generator.llm import BriefRetries, model_client
from movie_generator.models import SourcePage, VideoScript
from movie_generator.pages.fetch import fetch_page, page_of
from movie_generator.pages.page import Page, Saved, joined
from movie_generator.pages.reading import RecordingTools, assemble
from movie_generator.pages.robots import Robots, RobotsUnknownError
from movie_generator.pages.tool_guard import GuardedTools
from movie_generator.pages.urls import UrlPolicy, url_key
from movie_generator.settings import AppConfig
from movie_generator.writer import write_script

OnProgress: TypeAlias = Callable[[float, str], None]
"""(how much is done, from 0 to 1 and never less than before; what is being done)"""
_READ, _WRITTEN = 0.5, 0.95
_PAGES = TypeAdapter(Page)
_RESULT_CHARACTERS = 2_000_000
"""Of one tool result. A longer one loses its form; the writer gets much less anyway."""
_logger = logging.getLogger("movie_generator")


async def generate_script_from_url(
    url: str,
    *,
    config_path: str | Path | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    on_progress: OnProgress | None = None,
    config: AppConfig | None = None,
    allow_private_urls: bool | None = None,
    allowed_hosts: Iterable[str] | None = None,
    store: Store | None = None,
    html: bytes | str | None = None,
    more_urls: Iterable[str] = (),
) -> VideoScript:
    """Write the script of the page at ``url``, which is read over HTTP without an agent.

    Args:
        url: A public page, http or https.
        config_path: config.yaml; by default all settings have their defaults.
        api_key: For the model; see :func:`movie_generator.llm.model_client`, as for ``base_url``.
        base_url: By default OPENROUTER_BASE_URL, else that of the provider whose key is set.
        on_progress: Called with how much is done, and what is being done.
        config: Instead of ``config_path``.
        allow_private_urls: By default as MOVIE_ALLOW_PRIVATE_URLS says.
        allowed_hosts: By default those of MOVIE_ALLOWED_HOSTS; if there are none, all.
        store: Keeps each finished step; a step that it already holds is not repeated.
        html: The page itself, as it was saved; then nothing is fetched from ``url``.
        more_urls: Further pages for the same script.

    Raises:
        SettingsError: The configuration cannot be used.
        UrlRefusedError: The URL leads into a private network, or is not a URL.
        PageError: The page cannot be read.
        ScriptError: The model wrote no usable script.
        LLMError: The model could not be asked.
    """
    body = html.encode("utf-8", "replace") if isinstance(html, str) else html
    return await _Generation(
        [url if body is None else Saved(url, body), *more_urls],
        config or AppConfig.load(config_path),
        on_progress,
        store,
        api_key=api_key,
        base_url=base_url,
        allow_private=allow_private_urls,
        hosts=allowed_hosts,
    ).run()


async def generate_script_from_url_with_agent(
    url: str,
    mcp_config_path: str | Path | Mapping[str, Any],
    config_path: str | Path | None = None,
    api_key: str | None = None,
    *,
    base_url: str | None = None,
    on_progress: OnProgress | None = None,
    config: AppConfig | None = None,
    allow_private_urls: bool | None = None,
    allowed_hosts: Iterable[str] | None = None,
    store: Store | None = None,
    more_urls: Iterable[str] = (),
) -> VideoScript:
    """Write the script of the page at ``url``, which an agent reads with the tools of MCP servers.

    ``mcp_config_path`` names the servers: a JSON file, which may hold comments, or the dict in it.
    All other arguments are those of :func:`generate_script_from_url`.

    Raises:
        MCPError: The servers' configuration cannot be used, or none of them starts.
        AgentError: The agent did not finish within its limit.
        Exception: Whatever :func:`generate_script_from_url` raises.
    """
    return await _Generation(
        [url, *more_urls],
        config or AppConfig.load(config_path),
        on_progress,
        store,
        mcp_config_path,
        api_key=api_key,
        base_url=base_url,
        allow_private=allow_private_urls,
        hosts=allowed_hosts,
    ).run()


async def generate_as_configured(
    source: str | Saved,
    on_progress: OnProgress,
    store: Store | None = None,
    *,
    environment: Environment | None = None,
    config: AppConfig | None = None,
    more: Iterable[str | Saved] = (),
) -> VideoScript:
    """The script of pages as the environment says now: with MCP_CONFIG_PATH, an agent reads them.

    ``config`` counts instead of what CONFIG_PATH names. Whatever keeps the script from being made
    is raised as it is.
    """
    environment = environment or Environment.read()
    config = config or AppConfig.load(environment.config_path)
    servers = environment.mcp_config_path
    return await _Generation([source, *more], config, on_progress, store, servers).run()


class _Generation:
    """One script in the making: its settings, model, network, progress and kept steps."""

    def __init__(
        self,
        sources: Iterable[str | Saved],
        config: AppConfig,
        on_progress: OnProgress | None,
        store: Store | None,
        mcp_config: str | Path | Mapping[str, Any] | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        allow_private: bool | None = None,
        hosts: Iterable[str] | None = None,
    ) -> None:
        """Find servers and model, so that a missing key is noticed before anything is read."""
        limits, environment = config.limits, Environment.read()
        allowed = environment.allowed_hosts if hosts is None else hosts
        private = environment.allow_private_urls if allow_private is None else allow_private
        policy = UrlPolicy.of(allowed, allow_private=private)
        timeout, most = limits.startup_timeout, _RESULT_CHARACTERS
        client = partial(MCPClient, startup_timeout=timeout, result_limit=most)
        self._servers = servers = None if mcp_config is None else client(mcp_config)
        pages: dict[str | Saved, str | Saved] = {}
        for it in sources:
            pages.setdefault(it if isinstance(it, Saved) else url_key(it), it)
        self._sources = [it if isinstance(it, Saved) else it.strip() for it in pages.values()]
        self._config = config
        self._progress = _Progress(on_progress, limits.iterations)
        self._robots = Robots(policy, timeout=limits.page_timeout, obey=config.obey_robots)
        self._checkpoints = Checkpoints(store)
        self._client = model_client(
            api_key,
            config.model,
            base_url,
            timeout=limits.model_timeout,
            wire=config.wire,
            transport=self._checkpoints.transport(),
            # Where the steps are kept, the work can wait until later.
            retry=None if store is None else BriefRetries(max_attempts=2, max_delay=2.0),
        )
        key = self._client.api_key
        self._checkpoints.redactor = servers.redactor(key) if servers else redactor_of({}, [key])

    async def run(self) -> VideoScript:
        """Read the pages, once however often the work is taken up, and write the script."""
        urls = [it for it in self._sources if isinstance(it, str)]
        for url in urls if self._servers else ():
            try:
                await check_url(url, self._robots.policy)
            except UrlUnresolvedError as error:
                _logger.info("%s The agent's tools may reach it.", error)
        limit = self._config.limits.page_characters // len(self._sources)
        pages: list[Page] = []
        for source in self._sources:
            if isinstance(source, Saved):
                read = partial(page_of, source.body, source.kind, source.url, self._config.limits)
                page = (await asyncio.to_thread(read)).cut(limit)
                if not page.text:
                    raise PageError(f"{address(source.url)} contains no text.")
            else:
                kept = await self._checkpoints.step(
                    "page", [source, limit], partial(self._read, source, limit)
                )
                page = _PAGES.validate_python(kept)
            pages.append(page)
        return await self._write(pages[0] if len(pages) == 1 else joined(pages))

    async def _read(self, url: str, limit: int) -> JSON:
        servers = self._servers
        page = await (self._read_by_agent(url, servers) if servers else self._fetch(url))
        kept: JSON = _PAGES.dump_python(page.cut(limit), mode="json")
        return kept

    async def _fetch(self, url: str) -> Page:
        self._progress.tell(0.05, "Reading the page")
        return await fetch_page(url, self._config.limits, self._robots)

    async def _read_by_agent(self, url: str, servers: MCPClient) -> Page:
        """Read the page with tools; the servers end before the script is written."""
        limits, progress = self._config.limits, self._progress
        told = partial(progress.tell, 0.0)  # of what does not advance the work
        try:
            await self._robots.check(url)
        except (UrlUnresolvedError, RobotsUnknownError) as error:  # the tools may know better
            progress.tell(0.01, f"{error} It is left to the agent's tools.")
        for warning in servers.warnings:
            progress.tell(0.01, warning)
        progress.tell(0.02, "Starting the MCP servers")
        async with servers:
            guarded = GuardedTools(servers, self._robots, told)
            tools = RecordingTools(self._checkpoints.tools(guarded), limits, told)
            agent = AgentLoop(
                tools,
                self._client.api_key,
                self._client.model,
                max_iterations=limits.iterations,
                system_prompt=prompts.READER,
                client=self._client,
                observer=progress,
                checkpoints=self._checkpoints,
            )
            try:
                answer = await agent.run(prompts.READING_TASK.format(url=url))
                return await assemble(url, tools, answer)
            except (AgentError, PageError) as error:
                if tools.was_garbled:  # the page is there, and its encoding is known here
                    with suppress(PageError, UrlRefusedError):
                        page = await self._fetch(url)
                        note = "The tools gave the page in a wrong encoding; it was read directly."
                        progress.tell(_READ, note)
                        return page
                raise tools.explained(error) from error

    async def _write(self, page: Page) -> VideoScript:
        """Write the script; what the page says of itself, the model is not asked."""
        progress, client = self._progress, self._client
        progress.tell(_READ, f"Read {len(page.text):,} characters: {page.title}")
        for note in page.notes:
            _logger.warning("%s: %s", address(page.url), note)
            progress.tell(_READ, note)
        progress.tell(0.55, f"{client.model} is writing the script")
        async with client:
            corrected = partial(progress.tell, 0.8)
            script = await write_script(client, page, self._config, corrected)
        own = replace(page, title="") if page.title in page.hearsay else page
        facts = {name: getattr(own, name) or None for name in SourcePage.model_fields}
        source = SourcePage.model_validate(facts)
        progress.tell(_WRITTEN, f"{counted(len(script.sections), 'section')} written")
        progress.tell(1.0, "Done")
        return script.model_copy(update={"page": source})


class _Progress(LoopObserver):
    """Reports progress, to which the agent's replies belong, and never less than before."""

    def __init__(self, on_progress: OnProgress | None, iterations: int) -> None:
        self._on_progress = on_progress
        self._iterations = iterations
        self._fraction = 0.0

    def tell(self, fraction: float, message: str) -> None:
        self._fraction = max(self._fraction, min(fraction, 1.0))
        if self._on_progress is not None:
            self._on_progress(self._fraction, message)

    def iteration_started(self, iteration: int) -> None:
        share = min(1.0, (iteration - 1) / self._iterations)
        self.tell(0.05 + 0.4 * share, "The agent is choosing what to read")
