"""Tokens and registrations, one file for each server, readable for its owner only."""

import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

from mcp.client.auth import TokenStorage
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel, ValidationError

from mcp_ghost.files import PRIVATE, data_folder, read_regular, write_whole

_BASIC, _POST = "client_secret_basic", "client_secret_post"


class Kept(BaseModel):
    """What a file holds."""

    server: str = ""
    """For people who look into it."""
    client: OAuthClientInformationFull | None = None
    """As it was registered; not that of the entry."""
    tokens: OAuthToken | None = None
    expires_at: float | None = None
    """Of the access token, by the clock of this machine."""
    issuer: str | None = None
    """Who issued them, which has to stay so."""
    auth_server_url: str | None = None
    oauth_metadata: OAuthMetadata | None = None
    protected_resource_metadata: ProtectedResourceMetadata | None = None


class Store(TokenStorage):
    """The SDK's storage for the server at ``url``, of which ``shown`` may be written down.

    ``asked`` is what else has to be the same for what is kept to be of use.
    """

    def __init__(self, url: str, shown: str, asked: object) -> None:
        digest = hashlib.sha256(json.dumps([url, asked]).encode()).hexdigest()[:16]
        self._path = data_folder() / "oauth" / f"{urlsplit(url).hostname}-{digest}.json"
        self._shown = shown
        self.fixed: OAuthClientInformationFull | None = None
        """The client of the entry, if it has one."""
        self._context: OAuthContext | None = None
        self.kept = Kept()
        self.read()

    def read(self) -> None:
        """Look at what is kept now; what cannot be read is as good as nothing."""
        try:
            self.kept = Kept.model_validate_json(read_regular(self._path))
        except (OSError, ValidationError):
            self.kept = Kept(server=self._shown)

    def fill(self, context: OAuthContext) -> None:
        """Give ``context`` what is kept, and note from then on what it finds out."""
        self._context, kept = context, self.kept
        context.current_tokens = kept.tokens
        context.token_expiry_time = kept.expires_at
        context.client_info = self.client()
        if kept.tokens is not None and context.oauth_metadata is None:
            context.auth_server_url = kept.auth_server_url
            context.oauth_metadata = kept.oauth_metadata
            context.protected_resource_metadata = kept.protected_resource_metadata

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens as last read."""
        return self.kept.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, and what it takes to renew them in another process."""
        context = self._context
        assert context is not None  # noqa: S101 - the SDK's, filled when it was made
        metadata = context.oauth_metadata
        self._write(
            tokens=tokens,
            expires_at=context.token_expiry_time,
            issuer=str(metadata.issuer) if metadata else None,
            auth_server_url=context.auth_server_url,
            oauth_metadata=metadata,
            protected_resource_metadata=context.protected_resource_metadata,
            client=None if self.fixed else context.client_info,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """See ``client``."""
        return self.client()

    def client(self) -> OAuthClientInformationFull | None:
        """The client of the entry, for whom it was used with first; else the registered one."""
        if self.fixed is None:
            return self.kept.client
        update = {"issuer": self.fixed.issuer or self.kept.issuer}
        if self.fixed.client_secret:
            update["token_endpoint_auth_method"] = secret_method(self.kept.oauth_metadata)
        return self.fixed.model_copy(update=update)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration."""
        self._write(client=client_info, tokens=None, expires_at=None)

    def _write(self, **fields: Any) -> None:  # noqa: ANN401 - those of Kept
        self.kept = self.kept.model_copy(update={"server": self._shown, **fields})
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._path, self.kept.model_dump_json(exclude_none=True), mode=PRIVATE)


def secret_method(metadata: OAuthMetadata | None) -> str:
    """How a client's secret is sent where nobody has agreed on it: in a header, if possible."""
    supported = metadata and metadata.token_endpoint_auth_methods_supported
    return _POST if supported and _BASIC not in supported and _POST in supported else _BASIC
