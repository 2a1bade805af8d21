"""What the providers take of a tool's schema: a new one is one entry here."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Taken(NamedTuple):
    """What one provider takes."""

    wire: str
    names: re.Pattern[str]
    """Names of properties."""
    patterns: re.Pattern[str]
    """Regular expressions, all of which Python has to know, too."""
    longest: int
    """The largest count, such as ``maxLength``."""
    is_typed: bool = False
    """Whether each schema has to say what it is about."""


_INT = 2**31 - 1
_ANY = re.compile(r".*", re.DOTALL)
# "Property keys should match pattern", https://github.com/n8n-io/n8n/issues/30590
_NAMES = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_WITHOUT_LOOKAROUND = re.compile(r"(?:(?!\(\?<?[=!]).)*", re.DOTALL)
_IN_GRAMMARS = re.compile(
    r'\^(?:\[\^?[^\\\[\]"]+\]|\\[\^$.\[\]()|{}*+?]|\((?!\?)|[^\\\[\]{}^$"?*+(]'
    r"|(?<![*+?}|(^])(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\}))+\$"
)

FOR_ANTHROPIC: Final = Taken("Anthropic", _NAMES, _ANY, _INT)
# "regex lookaround is not supported", https://github.com/cline/cline/pull/14019; other servers that
# speak this format hand names on to Claude (OpenRouter, LiteLLM).
FOR_OPENAI: Final = Taken("OpenAI", _NAMES, _WITHOUT_LOOKAROUND, _INT)
# llama.cpp makes a grammar of the schemas (common/json-schema-to-grammar.cpp): it wants anchors,
# and knows neither lookaround nor classes such as \d. A rule is repeated less than 2,000 times
# (src/llama-grammar.cpp). An empty schema is an object there.
FOR_GRAMMARS: Final = Taken("llama.cpp", _NAMES, _IN_GRAMMARS, 500, is_typed=True)
# google.genai.types.FunctionDeclaration.parameters
FOR_GEMINI: Final = Taken("Gemini", re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"), _ANY, _INT)
