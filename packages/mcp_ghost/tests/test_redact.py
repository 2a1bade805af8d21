"""What is secret, by name, by value and by form, and what is not."""

from __future__ import annotations

import base64
import json
import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_ghost.config import ServerConfig, redactor_of
from mcp_ghost.redact import MASK, Redactor, names_a_secret, redact, secrets_in
from mcp_ghost.tables import table
from tests.support.work import growth

KEYS = [
    "sk-proj-abcdEFGH1234567890",
    "sk-ant-api03-abcdEFGH1234567890",
    "sk_live_abcdEFGH1234567890",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0123456789abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghijkl",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
]
HARMLESS = [
    "sk-learn is a library, and so is scikit-learn",
    "the ring bearer approached; Bearer YOUR_TOKEN",
    "a task-force-of-1234567890",
    '{"key": "item-1234567", "token": "lamp-12345678"}',
    "https://example.com/a:b@c",
    "eyJjdXJzb3IiOiAxMDB9",
]


def test_secrets_are_blanked_and_names_of_variables_are_not() -> None:
    text = "run --api-key hunter22 Bearer abcdef123456 https://u:p4ss@h sk-or-v1-0123456789"
    assert redact(text) == "run --api-key *** Bearer *** https://***@h ***"
    assert redact("missing key: OPENAI_API_KEY") == "missing key: OPENAI_API_KEY"
    secrets = secrets_in({"MY_TOKEN": "open sesame", "HOME": "/home/user", "KEY": "k"})
    assert secrets == {"open sesame"}
    assert redact("I say open sesame.", secrets) == "I say ***."


@pytest.mark.parametrize("part", ["-", "key=", "a-", "--token ", "://"])
def test_long_lines_are_searched_for_secrets_in_linear_time(part: str) -> None:
    assert redact(part * 40_000 + " --api-key hunter22").endswith("--api-key ***")
    assert growth(lambda size: redact(part * size), 10_000) < 9


def test_an_author_is_not_a_secret_and_an_authorization_is() -> None:
    open_to_all = {"GIT_AUTHOR_NAME": "Ada Lovelace", "AUTHORS": "Ada and Charles"}
    assert secrets_in(open_to_all) == set()
    assert secrets_in({"X_AUTHORIZATION": "open sesame"}) == {"open sesame"}
    assert secrets_in({"BASIC_AUTH": "ada:lovelace", "AUTHOR_TOKEN": "t-123456"}) == {
        "ada:lovelace",
        "t-123456",
    }


@pytest.mark.parametrize(
    "name",
    ["API_KEY", "apiKey", "PGPASSWORD", "DB_PWD", "X-Goog-Api-Key", "GITHUB_PAT", "SENTRY_DSN"],
)
def test_a_name_says_that_its_value_is_secret(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name", ["KEYBOARD", "KEYMAP", "MONKEY", "AUTHORS", "TOKENIZERS_PARALLELISM", "COMPASS", "PATH"]
)
def test_a_name_that_only_looks_like_it_says_nothing(name: str) -> None:
    assert not names_a_secret(name)


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_known_by_their_form_and_json_stays_json(key: str) -> None:
    text = json.dumps({"said": f'Use {key}, or "{key}"!'})
    assert json.loads(Redactor()(text)) == {"said": 'Use ***, or "***"!'}


TABLE = table("mcp_ghost", "redact.toml")
FORMATS = {"".join(it["form"]): it["signs"] for it in (TABLE["tokens"] | TABLE["others"]).values()}


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=8)
@given(data=st.data())
def test_whatever_has_a_form_has_one_of_its_signs(form: str, data: st.DataObject) -> None:
    plain = re.sub(r"([+*?}])\+", r"\1", form)  # Hypothesis does not know possessive quantifiers
    text = data.draw(st.from_regex(plain))
    assert any(sign in text for sign in FORMATS[form])


PIECES = st.lists(st.sampled_from(["open-sesame-", "ope", "n", "s", "k-abcd12345678"]))
TEXTS = PIECES.map("".join)


@given(TEXTS, TEXTS, TEXTS)
@example("open-sesame-open-sesame-ope", "s", "n")
@example("s", "n", "k-abcd12345678")
def test_what_began_a_text_without_a_key_need_not_be_searched_again(
    shared: str, before: str, after: str
) -> None:
    redactor, text = Redactor(["open-sesame-open-sesame-open"]), shared + after
    finds_nothing = redactor.finds_nothing(text)
    assert redactor(text) == text or not finds_nothing
    if redactor.finds_nothing(shared + before):
        assert redactor.finds_nothing(text, len(shared)) == finds_nothing


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_key_stays(text: str) -> None:
    assert Redactor()(text) == text


def test_binary_data_stays() -> None:
    data = base64.b64encode(random.Random(1).randbytes(300_000)).decode()
    assert Redactor(["sk-hidden-012345"])(data) == data


def test_a_private_key_is_taken_out_as_a_whole() -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE/+4=\nabc\n-----END RSA PRIVATE KEY-----"
    assert json.loads(Redactor()(json.dumps([f"<{pem}>", "rest"]))) == ["<***>", "rest"]
    assert Redactor()(f"{pem}\nrest") == "***\nrest"


def test_a_value_is_found_as_json_and_urls_write_it() -> None:
    secret = 'pass "word" + ä'
    clean = Redactor([secret])
    for text in (secret, json.dumps([secret]), json.dumps(json.dumps([secret]))):
        assert "word" not in clean(text)
    assert clean("https://x/?q=pass%20%22word%22%20%2B%20%C3%A4") == "https://x/?q=***"


def test_values_are_secret_unless_plain() -> None:
    env = {"LEVEL": "production", "TZ": "Europe/Berlin", "BASE": "https://example.com/api",
           "DATA": "/usr/share", "OTHER": "warm welcome", "SHORT_KEY": "1234567",
           "NO_URL": "http://[half an address"}  # fmt: skip
    headers = {"Authorization": "Bearer let me in", "Accept": "application/json"}
    config = {"a": ServerConfig(command="x", env=env), "b": ServerConfig(url="x", headers=headers)}
    clean = redactor_of(config)
    for value in ("production", "Europe/Berlin", "https://example.com/api/1", "/usr/share/doc"):
        assert clean(value) == value
    assert clean("a warm welcome, let me in, application/json") == "a ***, ***, application/json"
    assert (clean("1234567"), clean(env["NO_URL"])) == ("1234567", MASK)


def test_placeholders_and_places_are_no_secrets() -> None:
    plain = {"API_KEY": "changeme", "GOOGLE_APPLICATION_CREDENTIALS": "/usr/bin", "PWD": "/usr/lib"}
    assert secrets_in(plain) == set()


@pytest.mark.parametrize("key", [*KEYS, "open sesame", "https://user:hunter22@host"])
def test_keys_are_found_wherever_they_are_in_a_long_text(key: str) -> None:
    clean = Redactor(["open sesame"])
    short = clean(f" {key} ")
    assert MASK in short
    for before in range(65_536 - len(key) - 2, 65_536 + 2):
        text = "x" * (before - 1) + f" {key} " + "y" * 10_000
        assert clean(text) == "x" * (before - 1) + short + "y" * 10_000


LONG = "".join(random.Random(2).choices("abcdef012345", k=30_000))


@pytest.mark.parametrize("key", [LONG, f"eyJhbGciOiJSUzI1NiJ9.eyJ{LONG[:12_000]}.sig"])
def test_long_keys_are_found_wherever_they_are(key: str) -> None:
    clean = Redactor([LONG])
    for before in range(30_000, 70_000, 1_500):
        text = "x " * (before // 2)
        assert clean(f"{text}{key} {'y' * 40_000}") == f"{text}{MASK} {'y' * 40_000}"


def test_a_private_key_that_is_longer_than_a_step_is_found() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIE" * 50_000 + "\n-----END PRIVATE KEY-----"
    assert Redactor()("x" * 60_000 + key + "y") == "x" * 60_000 + MASK + "y"
    assert redact(f"{'x' * 65_500} --token hunter22hunter22 {'y' * 9000}").count(MASK) == 1


def test_an_error_is_harmless_to_a_terminal_and_hides_no_key_behind_escapes() -> None:
    assert redact("\x1b[31mno\x1b]0;title\x07 --to\x1b[0mken hunter22\x9b1m") == "no --token ***"
