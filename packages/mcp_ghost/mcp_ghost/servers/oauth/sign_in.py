"""Signing in, as it concerns one request after the other. Imports the SDK."""

import asyncio
import re
import warnings
from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import MCPDeprecationWarning
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

from mcp_ghost.config import OAuth
from mcp_ghost.errors import MCPError
from mcp_ghost.servers.oauth.browser import Send, address_to_return_to
from mcp_ghost.servers.oauth.network import ELSEWHERE, FAILED, FAULT, Failure, IssuerPolicy
from mcp_ghost.servers.oauth.store import Store, secret_method

_CHALLENGE = "www-authenticate"
_LONG_AGO = 1.0


class SignIn(httpx2.Auth):
    """Adds the token to requests; signs in where there is none, or it is not enough.

    A person is asked once: after a failure, requests go out as they can, or not at all.
    """

    def __init__(
        self, url: str, shown: str, auth: OAuth, authorize: Send, issuers: IssuerPolicy
    ) -> None:
        """Nothing is sent yet.

        Args:
            url: That of the server, without anything secret.
            shown: The same as it may be written down.
            auth: How the entry says that one signs in.
            authorize: Says who takes part, and sends a person to an address.
            issuers: Where a person may be sent.
        """
        self._url = url
        self._auth = auth
        self._authorize = authorize
        self._issuers = issuers
        self._page = ""
        """Where a person has to go."""
        self._scopes = " ".join(auth.scopes)
        """What to ask for instead of what the server names."""
        self.is_done = False
        """Whether requests are answered, as far as is known."""
        self._failure: Failure | None = None
        self._fault: str | None = None
        """What went wrong on the network."""
        self._one_at_a_time = asyncio.Lock()
        self._store = Store(url, shown, [auth.client_id, sorted(auth.scopes), auth.grant_type])
        if auth.grant_type == "client_credentials":
            with warnings.catch_warnings():
                # Without an issuer: the first that was met, like all that is trusted on first use.
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                self._provider: OAuthClientProvider = ClientCredentialsOAuthProvider(
                    url,
                    self._store,
                    auth.client_id or "",
                    auth.client_secret or "",
                    scope=self._scopes or None,
                    issuer=auth.issuer or self._store.kept.issuer,
                )
        else:
            # The address of a document that describes the client (CIMD).
            is_document = is_valid_client_metadata_url(auth.client_id)
            if auth.client_id is not None and not is_document:  # registered beforehand
                self._store.fixed = OAuthClientInformationFull(
                    client_id=auth.client_id,
                    client_secret=auth.client_secret,
                    issuer=auth.issuer,
                )
            back = auth.redirect_uri or self._way_back()
            self._provider = OAuthClientProvider(
                url,
                OAuthClientMetadata.model_validate(
                    {"client_name": "mcp_ghost", "redirect_uris": [back]}
                ),
                self._store,
                self._note_page,
                self._came_back,
                auth.client_id if is_document else None,
            )
        self._store.fill(self._provider.context)

    def _way_back(self) -> str:
        """Where the browser is sent: as registered, as long as something can listen there."""
        client = self._store.kept.client
        registered = str(client.redirect_uris[0]) if client and client.redirect_uris else None
        back = address_to_return_to(registered)
        if back != registered:
            self._store.kept.client = None  # which was registered with the other address
        return back

    async def _note_page(self, url: str) -> None:
        self._page = url

    async def _came_back(self) -> AuthorizationCodeResult:
        """Send a person to the page, and read the address at the end."""
        await self._issuers.check_page(self._page)
        context = self._provider.context
        metadata = context.oauth_metadata
        issues = str(metadata.token_endpoint) if metadata else context.auth_server_url or self._page
        # In ASCII, so that no host looks like another.
        parties = (self._url, self._page, issues)
        server, page, token = (httpx2.URL(it).netloc.decode() for it in parties)
        back = await self._authorize(
            self._page,
            f"The MCP server at {server} sends you to {page} to sign in; "
            f"{token} then gives this program the token.",
        )
        query = parse_qs(urlsplit(back).query)
        if "error" in query:
            raise OAuthFlowError(": ".join(query["error"] + query.get("error_description", [])))
        if self._auth.client_secret and context.client_info is not None:
            # Nobody has said yet how it is sent.
            context.client_info.token_endpoint_auth_method = secret_method(metadata)
        return AuthorizationCodeResult.model_validate(
            {name: query.get(name, [""])[0] or None for name in ("state", "iss")}
            | {"code": query.get("code", [""])[0]}
        )

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
