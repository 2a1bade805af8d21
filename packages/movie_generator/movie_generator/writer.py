"""From a page to a script: asked for with a strict schema, checked, and once sent back.

Of what the model writes again, only what was wrong before is taken.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher

from pydantic import ValidationError

from mcp_ghost.messages import LLMResponse, Message
from mcp_ghost.providers.client import ProviderClient
from mcp_ghost.providers.schema import response_format
from movie_generator import prompts
from movie_generator.answers import json_object
from movie_generator.errors import ScriptError
from movie_generator.grounding import check
from movie_generator.grounding.evidence import Evidence
from movie_generator.judge import judged
from movie_generator.models import Narration, VideoScript
from movie_generator.pages.page import Page
from movie_generator.quality import problems as useless
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
    response, script, problems = await _written(client, messages, page, config)
    if script is None:
        told(f"The script is being corrected: {problems[0]}")
        messages += prompts.sent_back(response, prompts.REPAIR.format("\n- ".join(problems)))
        response, script, problems = await _written(client, messages, page, config)
    if script is None:
        raise ScriptError(
            f"The model {client.model} did not write a usable script: {'; '.join(problems)}. "
            "Try again, or try another model."
        )
    language = config.language.partition("-")[0]
    faults = await asyncio.to_thread(check.faults, script, evidence, language)
    if faults:
        told(f"The script is being corrected: {faults[0]}")
        listed = "\n- ".join(map(str, faults[:_MAX_UNSUPPORTED]))
        messages += prompts.sent_back(response, prompts.GROUND.format(listed))
        _, again, _ = await _written(client, messages, page, config, in_part=True)
        if again is not None:
            script = merged(script, again, faults)
            faults = await asyncio.to_thread(check.faults, script, evidence, language)
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


async def _written(
    client: ProviderClient,
    messages: list[Message],
    page: Page,
    config: AppConfig,
    *,
    in_part: bool = False,
) -> tuple[LLMResponse, VideoScript | None, list[str]]:
    """A reply with the script in it, or with what is wrong with that.

    No tools are offered, so that nothing in the page can call one. Of a script that is taken only
    ``in_part``, it is no fault that little is left.
    """
    response = await client.complete(
        messages,
        response_format=response_format("video_script", prompts.script_schema(config, page.images)),
        max_tokens=config.limits.answer_tokens,
    )
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
                lambda _, __, it: it.model_copy(update={"reading": it.reading.translate(_KATAKANA)})
            )
        known = {image.url for image in page.images}
        for section in script.sections:
            if section.source_image_url not in known:
                section.source_image_url = None
        problems = [*useless(script, config)]
        if not problems or (in_part and script.sections):
            return response, script, []
    if response.finish_reason == "length":
        problems.insert(0, "it was cut off at the length limit; write fewer or shorter sections")
    return response, None, problems[:_MAX_PROBLEMS]


def merged(script: VideoScript, again: VideoScript, faults: Iterable[check.Fault]) -> VideoScript:
    """``script`` with its faults as they are in ``again``, which may leave them out."""
    wrong: dict[tuple[int, int], set[int | None]] = {}
    for fault in faults:
        wrong.setdefault((fault.section, fault.narration), set()).add(fault.sentence)
    old = [((number, place), it.text) for number, place, it in script.narrations()]
    new = [it for *_, it in again.narrations()]
    faulty = {index for index, (where, _) in enumerate(old) if where in wrong}
    pairs = _pairs([text for _, text in old], [it.text for it in new], faulty)
    partners = {old[index][0]: new[its] for index, its in pairs}

    def mended(number: int, place: int, narration: Narration) -> Narration | None:
        faults = wrong.get((number, place))
        if faults and (partner := partners.get((number, place))):
            return _mended(narration, partner, faults)
        # What only lacks its source stays.
        return narration if faults in (None, {None}) else None

    return script.replaced(mended)


def _pairs(old: list[str], new: list[str], wrong: set[int]) -> Iterator[tuple[int, int]]:
    """Which of ``new`` stands for which of ``old``."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, its_start, its_end in matcher.get_opcodes():
        if tag == "equal" or end - start == its_end - its_start:
            yield from zip(range(start, end), range(its_start, its_end), strict=True)
            continue
        free = [*range(its_start, its_end)]
        for index in (it for it in range(start, end) if it in wrong and free):
            best = max(free, key=lambda it: SequenceMatcher(None, old[index], new[it]).ratio())
            free.remove(best)
            yield index, best


def _mended(old: Narration, new: Narration, wrong: set[int | None]) -> Narration | None:
    """``old`` with its wrong sentences, and its source, from ``new``."""
    texts, readings = check.sentences_of(old)
    its_texts, its_readings = check.sentences_of(new)
    whole = {*range(len(texts))} <= wrong
    if whole or not (readings and its_readings):
        said = {"text": new.text, "reading": new.reading} if wrong - {None} else {}
        return old.model_copy(update={**said, "source": new.source})
    partners = dict(_pairs(texts, its_texts, {it for it in wrong if it is not None}))
    kept = [it for it in range(len(texts)) if it not in wrong or it in partners]
    text, reading = (
        "".join(_spaced(theirs[partners[it]] if it in wrong else ours[it]) for it in kept)
        for ours, theirs in ((texts, its_texts), (readings, its_readings))
    )
    said = {"text": text.strip(), "reading": reading.strip()}
    return old.model_copy(update={**said, "source": new.source}) if text.strip() else None


def _spaced(sentence: str) -> str:
    """A sentence that another one may follow."""
    ends = sentence.rstrip('\u300d\u300f\uff09\u201d"')[-1:] in "\u3002\uff01\uff1f"
    ends = ends or sentence[-1:].isspace()
    return sentence if ends else f"{sentence} "
