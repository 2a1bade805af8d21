"""From a page to a script: asked for with a strict schema, checked, and once sent back."""

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from pydantic import ValidationError

from mcp_ghost.messages import LLMResponse, Message
from mcp_ghost.providers.client import ProviderClient
from movie_generator import prompts
from movie_generator.errors import ScriptError
from movie_generator.grounding import check
from movie_generator.grounding.evidence import Evidence
from movie_generator.models import VideoScript
from movie_generator.pages.page import Page
from movie_generator.settings import AppConfig

_MAX_PROBLEMS = 12
_MAX_UNSUPPORTED = 40
_TEXT = {"type": "string"}
_NOTHING = {"type": "null"}


async def write_script(
    client: ProviderClient, page: Page, config: AppConfig, told: Callable[[str], None]
) -> VideoScript:
    """The script of ``page``; ``told`` is called when one has to be corrected, and of what is lost.

    A script that cannot be used is sent back once, and so is one that says what the page does not.
    What the page still does not support after that is left out.

    Raises:
        ScriptError: The second one was not usable either, or nothing of it is supported.
        LLMError: The model could not be asked.
    """
    messages: list[Message] = [
        {"role": "system", "content": prompts.writer(config)},
        {"role": "user", "content": prompts.writing_task(page)},
    ]
    evidence = _evidence(page)
    response = await _ask(client, messages, page, config)
    script, problems = _read(response, page, config)
    if script is None:
        told(f"The script is being corrected: {problems[0]}")
        messages += _sent_back(response, prompts.repair(problems))
        response = await _ask(client, messages, page, config)
        script, problems = _read(response, page, config)
    if script is None:
        raise ScriptError(
            f"The model {client.model} did not write a usable script: {'; '.join(problems)}. "
            "Try again, or try another model."
        )
    if unsupported := await asyncio.to_thread(_unsupported, script, evidence):
        told(f"The script is being corrected: {unsupported[0]}")
        messages += _sent_back(response, prompts.ground(unsupported))
        repaired, _ = _read(await _ask(client, messages, page, config), page, config)
        script = repaired or script
    return await asyncio.to_thread(_grounded, script, evidence, told)


def _sent_back(response: LLMResponse, why: str) -> list[Message]:
    return [
        {"role": "assistant", "content": response.content or "(nothing)"},
        {"role": "user", "content": why},
    ]


def _evidence(page: Page) -> Evidence:
    """All that the page says of what the writer is given."""
    return Evidence(page.text, page.head)


def _unsupported(script: VideoScript, evidence: Evidence) -> list[str]:
    return [*islice(check.problems(script, evidence), _MAX_UNSUPPORTED)]


def _grounded(script: VideoScript, evidence: Evidence, told: Callable[[str], None]) -> VideoScript:
    """The script with its sources, and without what the page does not support."""
    script = check.without_unsupported(check.with_sources(script, evidence), evidence)
    for lost in script.dropped or []:
        told(f"Left out, because {lost.why}: {lost.text}")
    if not script.sections:
        raise ScriptError(
            "The page supports nothing in the script. Try again, or try another model."
        )
    return script


async def _ask(
    client: ProviderClient, messages: list[Message], page: Page, config: AppConfig
) -> LLMResponse:
    """A reply; no tools are offered, so that nothing in the page can call one."""
    schema = {"name": "video_script", "strict": True, "schema": script_schema(page, config)}
    return await client.complete(
        messages,
        response_format={"type": "json_schema", "json_schema": schema},
        max_tokens=config.limits.answer_tokens,
    )


def script_schema(page: Page, config: AppConfig) -> dict[str, Any]:
    """The shape of a script: only the page's images, and only the configured personas."""
    dialogue = config.style == "dialogue"
    persona = {"type": "string", "enum": [p.id for p in config.personas]} if dialogue else _NOTHING
    images: list[str | None] = [image.url for image in page.images]
    image = {"type": ["string", "null"], "enum": [*images, None]} if images else _NOTHING
    section = _object(
        title=_TEXT,
        narrations=_list(
            _object(text=_TEXT, reading=_TEXT, persona_id=persona, source=_object(quote=_TEXT))
        ),
        slide_prompt={"type": ["string", "null"]},
        source_image_url=image,
    )
    roles = _list(_object(persona_id=persona, role=_TEXT, description=_TEXT))
    return _object(
        title=_TEXT,
        description=_TEXT,
        sections=_list(section),
        role_assignments=roles if dialogue else _NOTHING,
    )


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _read(
    response: LLMResponse, page: Page, config: AppConfig
) -> tuple[VideoScript | None, list[str]]:
    """The script in a reply, or what is wrong with it."""
    text = response.content or ""
    start, end = text.find("{"), text.rfind("}")
    try:
        script = VideoScript.model_validate(json.loads(text[start : end + 1]))
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, found['loc'])) or 'the script'}: {found['msg']}"
            for found in error.errors(include_url=False)
        ]
    except (ValueError, RecursionError) as error:
        problems = [f"it is not a JSON object ({error})"]
    else:
        script = _with_known_images(script, page)
        problems = [*_problems(script, config)]
        if not problems:
            return script, []
    if response.finish_reason == "length":
        problems.insert(0, "it was cut off at the length limit; write fewer or shorter sections")
    return None, problems[:_MAX_PROBLEMS]


def _problems(script: VideoScript, config: AppConfig) -> Iterator[str]:
    """What makes a script useless although it is well formed."""
    if not script.title.strip():
        yield "the script has no title"
    if not script.sections:
        yield "there are no sections"
    known = {persona.id for persona in config.personas} if config.style == "dialogue" else None
    for number, section in enumerate(script.sections, start=1):
        last = ", the last one," if number == len(script.sections) else ""
        if not section.narrations:
            yield f"section {number}{last} has no narrations"
        for place, narration in enumerate(section.narrations, start=1):
            where = f"narration {place} of section {number}{last}"
            if not narration.text.strip():
                yield f"{where} has no text"
            elif not narration.reading.strip():
                yield f"{where} has no reading"
            if known is not None and narration.persona_id not in known:
                yield f"{where} names no speaker among {', '.join(sorted(known))}"


def _with_known_images(script: VideoScript, page: Page) -> VideoScript:
    """The script without images that the page does not have."""
    known = {image.url for image in page.images}
    sections = [
        section
        if section.source_image_url in known
        else section.model_copy(update={"source_image_url": None})
        for section in script.sections
    ]
    return script.model_copy(update={"sections": sections})
