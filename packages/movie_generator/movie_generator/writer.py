"""From a page to a script: asked for with a strict schema, checked, and once sent back."""

import asyncio
from collections.abc import Callable

from pydantic import ValidationError

from mcp_ghost.messages import LLMResponse, Message
from mcp_ghost.providers.client import ProviderClient
from movie_generator import prompts
from movie_generator.answers import json_object
from movie_generator.errors import ScriptError
from movie_generator.grounding import check
from movie_generator.grounding.evidence import Evidence
from movie_generator.judge import judged
from movie_generator.models import VideoScript
from movie_generator.pages.page import Page
from movie_generator.quality import problems as useless
from movie_generator.repair import merged
from movie_generator.settings import AppConfig

_MAX_PROBLEMS = 12
_MAX_UNSUPPORTED = 40
_KATAKANA = {hiragana: hiragana + 0x60 for hiragana in range(0x3041, 0x3097)}


async def write_script(
    client: ProviderClient, page: Page, config: AppConfig, told: Callable[[str], None]
) -> VideoScript:
    """The script of ``page``; ``told`` is called when one has to be corrected, and of what is lost.

    A script that cannot be used is sent back once, and so is one that says what the page does not;
    of the answer to that, only what was wrong is taken. What the page still does not support is
    left out.

    Raises:
        ScriptError: The second one was not usable either, or nothing of it is supported.
        LLMError: The model could not be asked.
    """
    messages: list[Message] = [
        {"role": "system", "content": prompts.writer(config)},
        {"role": "user", "content": prompts.writing_task(page)},
    ]
    evidence = Evidence(page.text, page.head)
    response = await _ask(client, messages, page, config)
    script, problems = _read(response, page, config)
    if script is None:
        told(f"The script is being corrected: {problems[0]}")
        messages += prompts.sent_back(response, prompts.repair(problems))
        response = await _ask(client, messages, page, config)
        script, problems = _read(response, page, config)
    if script is None:
        raise ScriptError(
            f"The model {client.model} did not write a usable script: {'; '.join(problems)}. "
            "Try again, or try another model."
        )
    faults = await _faults(script, evidence, config)
    if faults:
        told(f"The script is being corrected: {faults[0]}")
        listed = [*map(str, faults[:_MAX_UNSUPPORTED])]
        messages += prompts.sent_back(response, prompts.ground(listed))
        again, _ = _read(await _ask(client, messages, page, config), page, config, in_part=True)
        if again is not None:
            script = merged(script, again, faults)
            faults = await _faults(script, evidence, config)
    if config.check == "model":
        told("The model is comparing each sentence with the page")
        faults += await judged(client, script, page, evidence)
    script = check.without(await asyncio.to_thread(check.with_sources, script, evidence), faults)
    for lost in script.dropped or []:
        told(f"Left out, because {lost.why}: {lost.text}")
    if not script.sections:
        raise ScriptError(
            "The page supports nothing in the script. Try again, or try another model."
        )
    return script


async def _faults(script: VideoScript, evidence: Evidence, config: AppConfig) -> list[check.Fault]:
    language = config.language.partition("-")[0]
    return await asyncio.to_thread(lambda: [*check.faults(script, evidence, language)])


async def _ask(
    client: ProviderClient, messages: list[Message], page: Page, config: AppConfig
) -> LLMResponse:
    """A reply; no tools are offered, so that nothing in the page can call one."""
    schema = {
        "name": "video_script",
        "strict": True,
        "schema": prompts.script_schema(config, page.images),
    }
    return await client.complete(
        messages,
        response_format={"type": "json_schema", "json_schema": schema},
        max_tokens=config.limits.answer_tokens,
    )


def _read(
    response: LLMResponse, page: Page, config: AppConfig, *, in_part: bool = False
) -> tuple[VideoScript | None, list[str]]:
    """The script in a reply, or what is wrong with it.

    Of one that is taken only ``in_part``, it is no fault that little is left.
    """
    found = json_object(response.content or "", "sections")
    try:
        script = VideoScript.model_validate(found)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, found['loc'])) or 'the script'}: {found['msg']}"
            for found in error.errors(include_url=False)
        ]
        if found is None:
            problems = ["it is not a JSON object with sections"]
    else:
        if config.language.startswith("ja"):  # readings come in hiragana now and then
            script = script.replaced(
                lambda _, __, it: [
                    it.model_copy(update={"reading": it.reading.translate(_KATAKANA)})
                ]
            )
        known = {image.url for image in page.images}
        for section in script.sections:
            if section.source_image_url not in known:
                section.source_image_url = None
        problems = [*useless(script, config)]
        if not problems or (in_part and script.sections):
            return script, []
    if response.finish_reason == "length":
        problems.insert(0, "it was cut off at the length limit; write fewer or shorter sections")
    return None, problems[:_MAX_PROBLEMS]
