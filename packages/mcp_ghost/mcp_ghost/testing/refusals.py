"""What providers refuse in a chat request: the rules of the strict model server.

Collected from OpenAI, OpenRouter and the providers behind it; each rule has stopped somebody's
agent in the field. Most are rows of ``refusals_openai.json``; here is what no schema can say.
"""

import json
import re
from typing import Literal, TypeAlias

from mcp_ghost.results import JSONObject, parsed
from mcp_ghost.testing.rules import first_objection, rules_of

ServerDialect: TypeAlias = Literal[
    "generic", "openai", "openrouter", "llamacpp", "mistral", "litellm"
]
"""generic: what all refuse; openai: also every unknown parameter; openrouter: takes cache markers
in parts, and wants tool definitions beside a history with tool calls; llamacpp: makes a grammar of
the tools' schemas; mistral: has ids of its own form, and refuses some of OpenAI's fields; litellm:
stands before Claude, and wants tool definitions beside such a history, too."""


def _nowhere(schema: JSONObject) -> str | None:
    known = schema.get("$defs", {})
    names = re.findall(r'"\$ref": "(?:#/\$defs/)?([^"]*)"', json.dumps(schema))
    return next((name for name in names if name not in known), None)


RULES = rules_of(
    "openai",
    {
        "json_text": lambda text: not isinstance(text, str) or not isinstance(parsed(text), dict),
        "nowhere": _nowhere,
        "incomplete": lambda schema: ", ".join(
            sorted({*schema.get("properties", ())} ^ {*schema.get("required", ())})
        ),
    },
)


def refusal(body: object, dialect: ServerDialect = "generic") -> str | None:
    """Why a provider would refuse ``body``, or None."""
    return first_objection(RULES, body, dialect)
