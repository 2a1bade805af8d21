"""The form that an answer is asked to have: told to the model, demanded of it, and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from mcp_ghost.providers.schema import response_format, strict_schema
from mcp_ghost.results import JSON, JSONObject, jsonable, parsed
from mcp_ghost.run.report.synthesis import final_result

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


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


class Form:
    """Made of a pydantic model, any other type that pydantic knows, or a JSON schema."""

    def __init__(self, output: object) -> None:
        """Raises a ValueError for what is none of these."""
        if isinstance(output, Mapping):
            schema: JSONObject = json.loads(json.dumps(output))
            self._check = partial(_checked_by_schema, _validator(schema))
        else:
            adapter = _adapter(output)
            schema = adapter.json_schema()
            self._check = partial(_checked_by_type, adapter)
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
        """The value in ``answer``, also without the key that it should be wrapped in.

        Raises:
            FormError: It is not JSON, or not of this form.
        """
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


def _checked_by_schema(validator: Validator, value: JSON) -> Answer:
    problems = [_place(it.path, it.message) for it in validator.iter_errors(value)]
    if problems:
        raise FormError(_joined(problems))
    return Answer(value, value)


def _checked_by_type(adapter: TypeAdapter[Any], value: JSON) -> Answer:
    try:
        checked = adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        problems = [_place(it["loc"], it["msg"]) for it in error.errors()]
        raise FormError(_joined(problems)) from error
    return Answer(adapter.dump_python(checked, mode="json", by_alias=True), checked)


def _adapter(output: Any) -> TypeAdapter[Any]:  # noqa: ANN401  any type
    wanted = "output must be a pydantic model, another type or a JSON schema"
    if isinstance(output, str):  # which pydantic would look up as the name of a type
        raise ValueError(f"{wanted}, not {output!r}.")  # noqa: TRY004
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output)
        wanted = "output has no JSON schema"
        adapter.json_schema()
    except (PydanticUserError, NameError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{wanted}: {reason}") from error
    return adapter


def _validator(schema: JSONObject) -> Validator:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"output is not a JSON schema: {error.message}") from error
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def _place(path: Any, message: str) -> str:  # noqa: ANN401  names and numbers
    where = ".".join(map(str, path))
    return f"{where}: {message}" if where else message


def _joined(problems: list[str]) -> str:
    more = len(problems) - _PROBLEMS
    listed = [" ".join(problem.split())[:300] for problem in problems[:_PROBLEMS]]
    return "; ".join(listed) + (f"; and {more} more" if more > 0 else "")
