"""Signing in, as it concerns one request after the other."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthRegistrationError

from mcp_ghost.errors import MCPError
from mcp_ghost.servers.oauth.network import ELSEWHERE, FAILED, FAULT, Failure
from mcp_ghost.servers.oauth.store import Store

_CHALLENGE = "www-authenticate"
_LONG_AGO = 1.0


class SignIn(httpx2.Auth):
    """Adds the token to requests; signs in where there is none, or it is not enough.

    A person is asked once: after a failure, requests go out as they can, or not at all.
    """

    def __init__(
        self, provider: OAuthClientProvider, store: Store, scopes: list[str] | None = None
    ) -> None:
        """``scopes``: what to ask for instead of what the server names."""
        self._provider = provider
        self._store = store
        self._scopes = " ".join(scopes or ())
        self.is_done = False
        """Whether requests are answered, as far as is known."""
        self._failure: Failure | None = None
        self._fault: str | None = None
        """What went wrong on the network."""
        self._one_at_a_time = asyncio.Lock()

    @property
    def secrets(self) -> set[str]:
        """What nobody may read."""
        tokens, client = self._provider.context.current_tokens, self._store.client()
        found = (tokens and tokens.access_token, tokens and tokens.refresh_token)
        return {each for each in (*found, client and client.client_secret) if each}

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """``request``, with whatever it takes to have it answered."""
        token, answer = self._token, None
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
            answer = yield request
            said = answer.headers.get(_CHALLENGE, "")
            has_too_little = answer.status_code == 403 and "insufficient_scope" in said
            if self._failure is not None or not (answer.status_code == 401 or has_too_little):
                self.is_done = True
                return
        flow = self._provider.async_auth_flow(request)
        async with self._one_at_a_time, aclosing(flow):
            # Whoever was asked once is not asked again.
            is_new = self._failure is None or (token is None and self._token is not None)
            outgoing = None
            try:
                if is_new or self._provider.context.can_refresh_token():
                    if self._knows_better(token, answer):
                        answer = None
                    outgoing = await anext(flow)
                while outgoing is not None:
                    if outgoing is not request:
                        outgoing.extensions = {**outgoing.extensions, ELSEWHERE: True}
                        response = yield outgoing
                        self._fault = response.extensions.get(FAULT, self._fault)
                    else:
                        response = (yield request) if answer is None else answer
                        answer = None
                        self._name_scopes(response)
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                self.is_done = True
                return
            except Exception as error:  # noqa: BLE001 - of the SDK, or of a foreign 'authorize'
                self._failure = self._explained(error)
            request.extensions = {**request.extensions, FAILED: self._failure}
            yield request
            self.is_done = True

    @property
    def _token(self) -> str | None:
        context = self._provider.context
        return context.current_tokens.access_token if context.is_token_valid() else None  # type: ignore[union-attr]  # valid: there

    def _knows_better(self, token: str | None, answer: httpx2.Response | None) -> bool:
        """Whether ``token`` can be replaced without asking: by another task or process, or anew."""
        if self._token != token:
            return True
        self._store.read()
        context, kept = self._provider.context, self._store.kept
        if kept.tokens is not None and kept.tokens.access_token != token:
            self._store.fill(context)
            return True
        if answer is None or answer.status_code != 401 or not context.can_refresh_token():
            return False
        context.token_expiry_time = _LONG_AGO
        return True

    def _name_scopes(self, response: httpx2.Response) -> None:
        """Have the provider ask for the entry's scopes, as if the server had named them."""
        if self._scopes and response.status_code == 401:
            named = re.sub("(?i)^Bearer ?", "", response.headers.get(_CHALLENGE, ""))
            response.headers[_CHALLENGE] = f'Bearer scope="{self._scopes}", {named}'

    def _explained(self, error: Exception) -> Failure:
        words = f"signing in failed: {error or type(error).__name__}"
        if self._fault and self._fault not in words:
            words += f" ({self._fault})"
        advice = "'auth' has what the server wants, and that you are allowed to use it."
        if isinstance(error, OAuthRegistrationError):
            advice = "'auth' has the 'client_id' of a client that is registered there."
        elif isinstance(error, MCPError):
            advice = "somebody is there to sign in, or has done so before."
        return Failure(words, advice)
