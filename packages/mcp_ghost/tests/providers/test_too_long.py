"""What providers say of a request that is too long."""

import pytest

from mcp_ghost.errors import LLMStatusError
from mcp_ghost.providers.common import error_names, error_text
from mcp_ghost.providers.refusal import is_too_long
from mcp_ghost.providers.transport import Endpoint, is_transient

# (status, what the provider says); most are of packages/ai/src/utils/overflow.ts of
# https://github.com/badlogic/pi-mono and its tests.
TOO_LONG = [
    (400, "This model's maximum context length is 128000 tokens. However, your messages resulted"),
    (400, "Your input exceeds the context window of this model."),
    (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    (400, "Input is too long for requested model."),
    (
        400,
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    ),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    (400, "Please reduce the length of the messages or completion."),
    (400, "the request exceeds the available context size, try increasing it"),
    (
        400,
        "The number of tokens to keep from the initial prompt is greater than the context length",
    ),
    (400, "prompt token count of 150000 exceeds the limit of 128000"),
    (400, "invalid params, context window exceeds limit"),
    (400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"),
    (400, "Prompt contains 200000 tokens, too large for model with 131072 maximum context length"),
    (500, "prompt too long; exceeded max context length by 300 tokens"),
    (400, "Range of input length should be [1, 129024]"),
    (400, "Input length 9000 exceeds maximum allowed token size 8192"),
    (400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
    (400, "Prompt exceeds max length"),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 128000"),
    (422, "Input validation error: `inputs` must have less than 8192 tokens. Given: 9000"),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193."),
    (
        400,
        "The provided prompt is 9000 tokens long, but the maximum supported sequence length is 8",
    ),
    (400, "Request payload size exceeds the limit: 20971520 bytes."),
    (429, "Request too large on tokens per min (TPM): The input or output tokens must be reduced"),
    (429, "Extra usage is required for long context requests."),
    (413, "Request Entity Too Large"),
]
OTHERS = [
    (400, "max_tokens: 64000 > 4096, which is the maximum allowed number of output tokens"),
    (429, "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."),
    (429, "Too many tokens, please wait before trying again."),
    (400, "Invalid 'stop': array too large"),
    (404, "The model does not exist"),
    (500, "Internal server error"),
]


@pytest.mark.parametrize(("status", "said"), [*TOO_LONG, *OTHERS])
def test_a_request_that_is_too_long_is_known_and_not_sent_again(status: int, said: str) -> None:
    error = Endpoint("http://localhost").explained(LLMStatusError(said, status))
    assert is_too_long(error) is ((status, said) in TOO_LONG)
    if is_too_long(error):
        assert not is_transient(error)


def test_a_code_says_as_much_as_words() -> None:
    body = {"error": {"message": "Bad request.", "code": "context_length_exceeded"}}
    named = error_names(body)
    error = LLMStatusError(error_text(body), 400, named=named)
    assert is_too_long(Endpoint("http://localhost").explained(error))
