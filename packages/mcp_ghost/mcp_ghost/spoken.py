"""Calls of tools that a model wrote into its answer as text, where nobody makes them."""

import re
from collections.abc import Collection

from mcp_ghost.names import folded
from mcp_ghost.results import parsed

_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
# Hermes and Qwen: <tool_call>; Llama: <function=...> and <|python_tag|>; Mistral: [TOOL_CALLS];
# Kimi, Granite and GLM: <|tool_call...|>, and DeepSeek's with full-width bars; Phi: functools[...];
# Apertus: <|tools_prefix|>; LongCat: <longcat_tool_call>; FunctionGemma: <start_function_call>;
# Command R: <|START_ACTION|>; MiniMax: <invoke name=...>; gpt-oss: to=functions....; Functionary:
# >>>name. See llama.cpp, common/chat.cpp. LM Studio's own: [TOOL_REQUEST],
# https://lmstudio.ai/docs/developer/openai-compat/tools; Qwen-Agent's: \u273fFUNCTION\u273f,
# qwen_agent/llm/fncall_prompts/qwen_fncall_prompt.py; Gemini's: tool_code and default_api,
# https://github.com/NousResearch/hermes-agent/issues/74771; Cline's: <use_mcp_tool>,
# https://docs.cline.bot/tools-reference/all-cline-tools. ReAct, as LangChain's prompts have it:
# "Action: ...", then "Action Input: ...".
_MARK = re.compile(
    r"<[|\uff5c]?(?:[\w\uff5c]{1,20}[_:\uff5c])?(?:tool|function)s?[_\u2581 ]?"
    r"(?:(?:call|use|prefix)\w*|=)"
    r"|<invoke\b|<use_mcp_tool\b|<\w*tool\w*\s+name=|<\|python_tag\|>|<\|START_ACTION\|>"
    r"|\[TOOL_(?:CALLS?|REQUEST)\]|functools\[|\bto=functions\.|\u273fFUNCTION\u273f"
    r"|```tool_code\b|\bdefault_api[.:]|^>>>(?=[\w.-]+\n\{)|\bAction: *(?=[\w.-]+\s+Action Input:)",
    re.IGNORECASE | re.MULTILINE,
)
# What stands between a mark and the name that follows it, as "tool_sep" or "function" do.
_BETWEEN = re.compile(
    r"(?:(?:begin|call|function|invoke|json|name|print|sep|section|server|start|tool|type|use)s?"
    r"_?)+(?=[^\w\s.])",
    re.IGNORECASE,
)
_NAMED = re.compile(r"[\"'<\s](?:tool_?)?name[\"']?\s*(?:>|[:=]\s*[\"'])\s*([\w.-]+)")
_WORD = re.compile(r"[\w.-]+")
_NAMES = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs")
_INNER = ("tool_calls", "tool_call", "function_call", "function", "tool_uses")
# No JSON for a missing bracket or other quotes, and the calls in Python of Llama and Gemini.
_BROKEN = re.compile(
    rf"\s*\[?\{{\s*[\"'](?:{'|'.join(_NAMES)})[\"']\s*:\s*[\"']([\w.-]+)[\"']\s*,"
    rf"\s*[\"'](?:{'|'.join(_ARGUMENTS)})[\"']\s*:"
)
# As Cline and Roo Code want calls of their own tools: parameters in tags, within the tool's.
_TAGS = re.compile(r"<([\w.-]+)>\s*<([\w.-]+)>.*</\2>\s*</\1>\s*\Z", re.DOTALL)
_PYTHON = re.compile(
    r"\s*\[?(?:print\()?(?:default_api\.)?([\w.-]+)\((?:[^()]*=.*)?\)\]?\s*", re.DOTALL
)


def is_spoken_call(text: str, tools: Collection[str]) -> bool:
    """Whether ``text`` is a call of one of ``tools``, or begins or ends with one.

    Each tool is known by our name, by any that a wire makes of it, and by its bare name where a
    call has it.
    """
    names = {_plain(tool) for tool in tools}
    if not names or not text.strip():
        return False
    if mark := _MARK.search(text):
        words = _WORD.findall(text, mark.start())
        first = next(
            (it for it in _WORD.finditer(text, mark.end()) if not _BETWEEN.match(text, it.start())),
            None,
        )
        placed = [it[it.lastindex or 0] for it in (first, _NAMED.search(text, mark.start())) if it]
        return any(_is_one(it, names) for it in words) or any(
            _is_one(it, names, bare=True) for it in placed
        )
    if (tags := _TAGS.search(text)) and _is_one(tags[1], names, bare="_" in tags[1]):
        return True
    fences = [*_FENCE.finditer(text)]
    at_edge = [
        it[1] for it in fences if not text[: it.start()].strip() or not text[it.end() :].strip()
    ]
    start = re.search(r"^\s*\[?\{", text, re.MULTILINE)
    said = [*at_edge, text] + ([text[start.start() :]] if start and not fences else [])
    for each in said:
        if (value := parsed(each)) is not None:
            if _is_form(value, names):
                return True
            continue
        if (broken := _BROKEN.match(each)) and _is_one(broken[1], names, bare=True):
            return True
        is_bare = each is text and "=" in each
        if (python := _PYTHON.fullmatch(each)) and _is_one(python[1], names, bare=is_bare):
            return True
    return False


def _is_form(value: object, names: Collection[str]) -> bool:
    """Whether ``value`` is a call in one of the forms that servers and models know, or several."""
    if isinstance(value, list):
        return bool(value) and all(_is_form(each, names) for each in value)
    if not isinstance(value, dict):
        return False
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    if any(key in value for key in _ARGUMENTS):
        is_bare = any(key in value for key in _ARGUMENTS[:2])  # an answer may well hold the others
        if _is_one(name, names, bare=is_bare):
            return True
    inner = [value[key] for key in _INNER if isinstance(value.get(key), list | dict)]
    return any(_is_form(each, names) for each in inner)


def _is_one(name: str, names: Collection[str], *, bare: bool = False) -> bool:
    plain = _plain(name)
    return any(
        plain == it or plain.endswith(f"_{it}") or (bare and plain and it.endswith(f"_{plain}"))
        for it in names
    )


def _plain(name: str) -> str:
    return folded(re.sub(r"^functions\.|\.call$", "", name.lower()))
