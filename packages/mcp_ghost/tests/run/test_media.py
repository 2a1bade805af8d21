"""Images, sounds and long texts from tools: what of them the caller gets, and what the model."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.golden import compare_golden, record_golden, replay_golden
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, error_reply, tool_reply
from tests.support.ghosts import KEY, PROVIDERS, Bank, play, said_to

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp
SHOW: tuple[str, dict[str, Any]] = ("bank.show", {})
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()[:10]


def block(result: dict[str, Any], index: int = 0) -> dict[str, Any]:
    """The image or sound of a call."""
    said, media = result["tool_chain"][index]["result"]
    assert said == "Look at this:"
    assert isinstance(media, dict)
    return media


def images(body: Any) -> list[str]:  # noqa: ANN401  any JSON
    """The base64 of the images that a request shows, whatever its wire."""
    if isinstance(body, list):
        return [image for item in body for image in images(item)]
    if not isinstance(body, dict):
        return []
    if shown := body.get("image_url"):  # an object in chat completions
        return [str(shown["url"] if isinstance(shown, dict) else shown).partition("base64,")[2]]
    for key in ("source", "inlineData"):
        if key in body:
            return [body[key]["data"]]
    return [image for item in body.values() for image in images(item)]


# --- images and sounds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "model"), [*((name, None) for name in PROVIDERS), ("gemini", "gemini-2.5-flash")]
)
def test_an_image_reaches_the_caller_whole_and_the_model_in_the_way_of_its_wire(
    provider: WireName, model: str | None, bank: Bank
) -> None:
    script: list[Reply | str] = [tool_reply([SHOW, ("bank.balance", {}), SHOW]), "Black."]
    result, server = play(script, {"bank": bank.config}, provider, model=model)
    assert result["success"]
    image = block(result)
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(image["data"]).endswith(b"IEND\xaeB`\x82")
    assert images(server.requests[1].body) == [image["data"], block(result, 2)["data"]]
    assert said_to(server, 1).count(PNG) == 2  # and nowhere else
    (first, *_) = [m["content"] for m in result["conversation_history"] if m["role"] == "tool"]
    assert "Look at this:" in first
    assert "attached" in first
    assert PNG not in json.dumps(result["conversation_history"])


def test_a_question_after_the_images_is_a_message_with_them(bank: Bank) -> None:
    script: list[Reply | str] = [tool_reply([SHOW]), "Black, I think."]
    result, model = play(script, {"bank": bank.config}, max_iterations=1)
    assert result["final_result"] == "Black, I think."
    *_, tool, last = model.requests[1].messages
    assert (tool["role"], last["role"]) == ("tool", "user")
    assert [part["type"] for part in last["content"]] == ["text", "image_url", "text"]
    assert "The limit of 1 iterations" in last["content"][2]["text"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_images_can_be_kept_from_the_model(provider: WireName, bank: Bank) -> None:
    script: list[Reply | str] = [tool_reply([SHOW]), "I read of it."]
    result, model = play(script, {"bank": bank.config}, provider, images="never")
    assert block(result)["data"].startswith(PNG)
    assert PNG not in said_to(model, 1)
    assert "not attached: images are switched off" in said_to(model, 1)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_sound_and_an_image_of_an_error_are_told_in_words(provider: WireName, bank: Bank) -> None:
    calls = [("bank.show", {"type": "audio/wav"}), ("bank.show", {"fails": True})]
    result, model = play([tool_reply(calls), "Hm."], {"bank": bank.config}, provider)
    assert block(result)["mimeType"] == "audio/wav"
    assert base64.b64decode(block(result)["data"]) == b"RIFF"
    assert images(model.requests[1].body) == []
    assert "not attached: sounds are not passed on" in said_to(model, 1)


def test_what_is_larger_than_models_take_reaches_only_the_caller(bank: Bank) -> None:
    script: list[Reply | str] = [tool_reply([("bank.show", {"size": 5_000_000})]), "Too large."]
    result, model = play(script, {"bank": bank.config})
    assert len(block(result)["data"]) > 6_000_000
    assert len(said_to(model, 1)) < 10_000
    assert "not attached: it is larger than models accept" in said_to(model, 1)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "No endpoints found that support image input"),
        (400, "unknown variant `image_url`, expected `text`"),
        (400, "Output of tool call should be 'Input text'"),
    ],
)
def test_a_model_that_takes_no_images_is_asked_without_them_from_then_on(
    status: int, words: str, bank: Bank
) -> None:
    def script(request: ModelRequest) -> Reply | str:
        if images(request.body):
            return error_reply(status, words)
        asked = sum(message["role"] == "assistant" for message in request.messages)
        return tool_reply([SHOW]) if asked < 2 else "I cannot see it."

    result, model = play(script, {"bank": bank.config})
    assert result["final_result"] == "I cannot see it."
    assert [bool(images(request.body)) for request in model.requests] == [False, True, False, False]
    assert "this model takes none" in said_to(model, 2)


# --- goldens ----------------------------------------------------------------------------------


def test_a_golden_keeps_a_fingerprint_of_an_image_and_replays(bank: Bank, tmp_path: Path) -> None:
    path = tmp_path / "golden.json"
    with ModelServer([tool_reply([SHOW]), "Black."], namespace="mcp_ghost") as model:
        given: dict[str, Any] = {
            "server_config": {
                "mcpServers": {"bank": bank.config.model_dump(exclude_defaults=True)}
            },
            "system_prompt": "Look.",
            "provider": "openai",
            "user_prompt": "What is it?",
            "api_key": KEY,
            "base_url": model.base_url,
        }
        asyncio.run(record_golden(path, **given))
    text = path.read_text()
    assert PNG not in text
    assert text.count("{sha256:") == 3  # in the result, in the request, and of the server
    replayed = asyncio.run(replay_golden(path))
    assert block(replayed)["data"].startswith(PNG)
    assert compare_golden(replayed, path) == []
    path.write_text(text.replace("{sha256:", "{sha256:0"))
    assert any("result" in line for line in compare_golden(replayed, path))


# --- long texts -------------------------------------------------------------------------------


def told(result: dict[str, Any]) -> list[str]:
    return [each["content"] for each in result["conversation_history"] if each["role"] == "tool"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_the_results_of_a_reply_may_add_is_limited_and_shared(
    provider: WireName, bank: Bank
) -> None:
    calls = [("bank.flood", {"size": size}) for size in (2_000_000, 30, 2_000_000)]
    script: list[Reply | str] = [tool_reply(calls), tool_reply([calls[1]]), "Long."]
    result, model = play(script, {"bank": bank.config}, provider, max_result_tokens_per_turn=1000)
    one, short, other, next_short = told(result)
    assert short == next_short == "x" * 30
    for text in (one, other):
        kept, mark = text.split("\n")
        assert len(kept) == pytest.approx(1485, abs=5)
        assert mark.startswith(
            f"[cut here: {2_000_000 - len(kept)} of 2000000 characters left out]"
        )
        assert "limited to about 1,000 tokens; ask for less" in mark
    assert len(result["tool_chain"][0]["result"]) > 30_000  # result_limit is another matter
    assert said_to(model, 1).count("x" * 1000) == 2


def test_without_a_limit_results_are_as_long_as_result_limit_allows(bank: Bank) -> None:
    script: list[Reply | str] = [tool_reply([("bank.flood", {"size": 100_000})] * 3), "Long."]
    options: dict[str, Any] = {"max_result_tokens_per_turn": None, "result_limit": 90_000}
    result, _ = play(script, {"bank": bank.config}, **options)
    assert [len(text.split("\n")[0]) for text in told(result)] == [90_000] * 3


def test_images_take_half_of_what_results_may_add_at_most(bank: Bank) -> None:
    script: list[Reply | str] = [tool_reply([SHOW] * 3), "Two."]
    result, model = play(script, {"bank": bank.config}, max_result_tokens_per_turn=6000)
    assert len(images(model.requests[1].body)) == 2
    assert "attached" in told(result)[0]
    assert "not attached: this turn's results have become too long" in told(result)[2]
