from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mcp_ghost.providers.registry import get_provider
from mcp_ghost.testing import ModelServer
from movie_generator import generate_script_from_url
from movie_generator.errors import SettingsError
from movie_generator.llm import model_client
from movie_generator.settings import AppConfig
from tests.support.movie import PAGE, script_reply, site

if TYPE_CHECKING:
    from mcp_ghost.providers.common import WireChoice
    from mcp_ghost.testing.wires import WireName


def test_the_first_key_at_hand_chooses_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="OPENROUTER_API_KEY"):
        model_client(None)
    chosen = []
    for name in ("GEMINI", "GOOGLE", "ANTHROPIC", "OPENAI", "OPENROUTER"):
        monkeypatch.setenv(f"{name}_API_KEY", f"key-of-{name}")
        client = model_client(None)
        chosen.append((client.provider_name, client.api_key))
    assert chosen == [
        ("gemini", "key-of-GEMINI"),
        ("gemini", "key-of-GOOGLE"),
        ("anthropic", "key-of-ANTHROPIC"),
        ("openai", "key-of-OPENAI"),
        ("openrouter", "key-of-OPENROUTER"),
    ]
    assert model_client("mine").provider_name == "openrouter"
    at_home = model_client(None, base_url="https://api.anthropic.com")
    assert (at_home.provider_name, at_home.api_key) == ("anthropic", "key-of-ANTHROPIC")
    assert model_client(None, base_url="http://10.0.0.1/v1").api_key == "key-of-OPENROUTER"


def test_a_key_or_an_address_that_cannot_be_used_is_a_wrong_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SettingsError, match="The API key in OPENROUTER_API_KEY contains a space"):
        model_client("two words")
    monkeypatch.setenv("OPENROUTER_BASE_URL", "foo")
    with pytest.raises(SettingsError, match="'foo' is not a usable base URL"):
        model_client("mine")


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini"])
def test_a_script_is_written_by_each_provider_whose_key_is_there(
    wire: WireName, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = get_provider(wire)
    with site(PAGE) as served, ModelServer([script_reply()], wire=wire) as model:
        monkeypatch.setenv(provider.key_variables[0], "key-0123456789")
        monkeypatch.setenv(provider.base_url_variable, model.base_url)
        script = asyncio.run(
            generate_script_from_url(served.url + "/bridges", allow_private_urls=True)
        )
    assert script.sections
    assert model.refusals == []
    assert "key-0123456789" in str(model.requests[0].headers)


@pytest.mark.parametrize(("wire", "field"), [("chat", "messages"), ("responses", "input")])
def test_a_script_is_asked_for_on_the_wire_that_is_set(wire: WireChoice, field: str) -> None:
    with site(PAGE) as served, ModelServer([script_reply()], dialect="openai") as model:
        work = generate_script_from_url(
            served.url + "/bridges",
            config=AppConfig(wire=wire, model="gpt-4.1"),
            api_key="key-0123456789",
            base_url=model.base_url,
            allow_private_urls=True,
        )
        assert asyncio.run(work).sections
    assert model.refusals == []
    assert field in model.requests[0].body
