"""Thinking that a model wrote into its answer, between <think> tags."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_START = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def split_thinking(text: str) -> tuple[str, str]:
    """(answer, thinking); an answer in JSON is left as it stands."""
    if text.lstrip()[:1] in ("{", "["):
        return text, ""
    end = max((found.end() for found in _END.finditer(text)), default=0)
    # Beyond it, the search for an end would run to the last character from every start.
    thoughts = _BLOCK.findall(text[:end])
    answer = _BLOCK.sub("", text[:end]) + text[end:]
    if ends := list(_END.finditer(answer)):  # chat templates may swallow the opening tag
        thoughts.append(answer[: ends[-1].start()])
        answer = answer[ends[-1].end() :]
    if start := _START.match(answer):  # cut off before the closing tag
        thoughts.append(answer[start.end() :])
        answer = ""
    if not thoughts:
        return text, ""
    return answer.strip(), "\n".join(thought.strip() for thought in thoughts).strip()
