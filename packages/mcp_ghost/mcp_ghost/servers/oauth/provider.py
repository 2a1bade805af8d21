"""The SDK's provider for the ``auth`` of a server's entry. Imports the SDK."""

import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import MCPDeprecationWarning
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

from mcp_ghost.config import OAuth
from mcp_ghost.servers.oauth.browser import Send, address_to_return_to
from mcp_ghost.servers.oauth.store import Store, secret_method

_CLIENT_NAME = "mcp_ghost"
_NONE = "none"


def provider_for(
    url: str,
    shown: str,
    auth: OAuth,
    authorize: Send,
    check_page: Callable[[str], Awaitable[None]],
) -> tuple[OAuthClientProvider, Store]:
    """The provider for the server at ``url``, and where it keeps what it gets.

    Args:
        url: Without anything secret.
        shown: The same as it may be written down.
        auth: How the entry says that one signs in.
        authorize: Says who takes part, and sends a person to an address.
        check_page: Raises where no person is to be sent to an address.
    """
    asked = [auth.client_id, sorted(auth.scopes), auth.grant_type]
    if auth.grant_type == "client_credentials":
        store = Store(url, shown, asked)
        with warnings.catch_warnings():
            # Without an issuer: the first that was met, like all that is trusted on first use.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            provider: OAuthClientProvider = ClientCredentialsOAuthProvider(
                url,
                store,
                auth.client_id or "",
                auth.client_secret or "",
                scope=" ".join(auth.scopes) or None,
                issuer=auth.issuer or store.kept.issuer,
            )
    else:
        # The address of a document that describes the client (CIMD).
        parts = urlsplit(auth.client_id or "")
        is_document = parts.scheme == "https" and parts.path.strip("/") != ""
        fixed = None
        if auth.client_id is not None and not is_document:  # registered beforehand
            fixed = OAuthClientInformationFull(
                client_id=auth.client_id,
                client_secret=auth.client_secret,
                # Where there is a secret, what the issuer takes.
                token_endpoint_auth_method=_NONE,
                issuer=auth.issuer,
            )
        store = Store(url, shown, asked, fixed)
        person = _Person(url, authorize, check_page, bool(fixed and fixed.client_secret))
        provider = person.provider = OAuthClientProvider(
            url,
            OAuthClientMetadata.model_validate(
                {"client_name": _CLIENT_NAME, "redirect_uris": [_way_back(auth, store)]}
            ),
            store,
            person.sent,
            person.came_back,
            auth.client_id if is_document else None,
        )
    store.fill(provider.context)
    return provider, store


def _way_back(auth: OAuth, store: Store) -> str:
    """Where the browser is sent back to: as registered, as long as something can listen there."""
    if auth.redirect_uri:
        return auth.redirect_uri
    client = store.kept.client
    registered = str(client.redirect_uris[0]) if client and client.redirect_uris else None
    back = address_to_return_to(registered)
    if back != registered:
        store.kept.client = None  # which was registered with the other address
    return back


@dataclass
class _Person:
    """The SDK's two callbacks around one of ours."""

    server: str
    authorize: Send
    check_page: Callable[[str], Awaitable[None]]
    has_secret: bool
    """Whether the entry has one, so that nobody has said yet how it is sent."""
    url: str = ""
    provider: OAuthClientProvider = field(init=False)

    async def sent(self, url: str) -> None:
        """Note where to go."""
        self.url = url

    async def came_back(self) -> AuthorizationCodeResult:
        """Go there, and read the address at the end."""
        await self.check_page(self.url)
        context = self.provider.context
        metadata = context.oauth_metadata
        issues = str(metadata.token_endpoint) if metadata else context.auth_server_url or self.url
        # In ASCII, so that no host looks like another.
        parties = (self.server, self.url, issues)
        server, page, token = (httpx2.URL(it).netloc.decode() for it in parties)
        back = await self.authorize(
            self.url,
            f"The MCP server at {server} sends you to {page} to sign in; "
            f"{token} then gives this program the token.",
        )
        query = parse_qs(urlsplit(back).query)
        if "error" in query:
            raise OAuthFlowError(": ".join(query["error"] + query.get("error_description", [])))
        if self.has_secret and context.client_info is not None:
            context.client_info.token_endpoint_auth_method = secret_method(context.oauth_metadata)
        return AuthorizationCodeResult.model_validate(
            {name: query.get(name, [""])[0] or None for name in ("state", "iss")}
            | {"code": query.get("code", [""])[0]}
        )
