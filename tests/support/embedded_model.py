"""Fixtures: one embedded model for all tests of a file, and a client that talks to it.

A test file takes them over by name: ``client = embedded_model.client``.
"""

import asyncio
from collections.abc import Iterator

import httpx2
import pytest

from local_model.process import LocalModel
from local_model.transport import EmbeddedModelTransport
from shared_utils import EMBEDDED_BASE_URL


class Waiting(httpx2.BaseTransport):
    """The embedded model's transport for a synchronous client."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        transport = EmbeddedModelTransport(self._model)
        async with httpx2.AsyncClient(transport=transport) as client:
            response = await client.send(request)
        return httpx2.Response(
            response.status_code, headers=response.headers, content=response.content
        )


@pytest.fixture(scope="module")
def notices() -> list[str]:
    return []


@pytest.fixture(scope="module")
def model(notices: list[str]) -> Iterator[LocalModel]:
    model = LocalModel(on_notice=notices.append)
    yield model
    model.close()
    assert model.pid is None


@pytest.fixture(scope="module")
def client(model: LocalModel) -> Iterator[httpx2.Client]:
    with httpx2.Client(transport=Waiting(model), base_url=EMBEDDED_BASE_URL, timeout=60) as client:
        yield client
