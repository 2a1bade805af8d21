"""The form that an answer is asked to have: told to the model, demanded of it, and checked."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from mcp_ghost.providers.schema import response_format, strict_schema
from mcp_ghost.results import JSON, JSONObject, jsonable, parsed
from mcp_ghost.run.report.synthesis import final_result

_WRAPPED = "answer"
"""The key of what is not an object, since providers want one at the top."""
_PROBLEMS = 5
"""That are told of one answer."""


class FormError(ValueError):
    """Raised when an answer does not have the form; the message says where."""


class Answer(NamedTuple):
    """An answer that has the form."""

    plain: JSON
    typed: object
    """As the type has it; of a JSON schema, the same."""


Check: TypeAlias = Callable[[JSON], Answer]
"""Raises a FormError for what does not have the form."""


class Form:
    """Made of a pydantic model, any other type that pydantic knows, or a JSON schema."""

    def __init__(self, output: object) -> None:
        """Raises a ValueError for what is none of these."""
        schema, self._check = (
            _of_schema(output) if isinstance(output, Mapping) else _of_type(output)
        )
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        self._is_wrapped = schema.get("$defs", {}).get(name, schema).get("type") != "object"
        if self._is_wrapped:
            shared = {key: schema[key] for key in ("$defs",) if key in schema}
            inner = {key: value for key, value in schema.items() if key not in shared}
            wrapped = {"properties": {_WRAPPED: inner}, "required": [_WRAPPED]}
            schema = {"type": "object", **wrapped, **shared}
        self.schema = schema
        """What the model is told."""
        title = str(schema.get("title") or _WRAPPED)
        try:
            self.response_format = response_format(title, strict_schema(schema, title))
            """What the provider is to hold it to."""
        except ValueError:  # what it cannot promise is only asked for, and checked
            self.response_format = response_format(title, schema, strict=False)

    def read(self, answer: str) -> Answer:
        """The value in ``answer``, also without the key around it; a FormError for other forms."""
        value = final_result(answer)
        if not self._is_wrapped:
            if not isinstance(value, dict):
                raise FormError("it is not a JSON object")
            return self._check(value)
        problem = FormError(f"it is not a JSON object with the key '{_WRAPPED}'")
        if isinstance(value, dict) and _WRAPPED in value:
            try:
                return self._check(value[_WRAPPED])
            except FormError as error:
                problem = error
        for candidate in (jsonable(parsed(answer, value)), value):
            with suppress(FormError):
                return self._check(candidate)
        raise problem


def _of_schema(output: Mapping[str, Any]) -> tuple[JSONObject, Check]:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    schema: JSONObject = json.loads(json.dumps(output))
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"output is not a JSON schema: {error.message}") from error
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)

    def check(value: JSON) -> Answer:
        if problems := [(it.path, it.message) for it in validator.iter_errors(value)]:
            raise _error(problems)
        return Answer(value, value)

    return schema, check


def _of_type(output: Any) -> tuple[JSONObject, Check]:  # noqa: ANN401  any type
    wanted = "output must be a pydantic model, another type or a JSON schema"
    if isinstance(output, str):  # which pydantic would look up as the name of a type
        raise ValueError(f"{wanted}, not {output!r}.")  # noqa: TRY004
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output)
        wanted = "output has no JSON schema"
        schema = adapter.json_schema()
    except (PydanticUserError, NameError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{wanted}: {reason}") from error

    def check(value: JSON) -> Answer:
        try:
            checked = adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            raise _error([(it["loc"], it["msg"]) for it in error.errors()]) from error
        return Answer(adapter.dump_python(checked, mode="json", by_alias=True), checked)

    return schema, check


def _error(problems: Sequence[tuple[Iterable[object], str]]) -> FormError:
    listed = []
    for path, message in problems[:_PROBLEMS]:
        where = ".".join(map(str, path))
        listed.append(" ".join((f"{where}: {message}" if where else message).split())[:300])
    if (more := len(problems) - _PROBLEMS) > 0:
        listed.append(f"and {more} more")
    return FormError("; ".join(listed))
