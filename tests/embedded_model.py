"""Fixtures: one embedded model for all tests of a file, and a client that talks to it.

A test file takes them over by name: ``client = embedded_model.client``.
"""

from collections.abc import Iterator

import httpx
import pytest

from local_model import EMBEDDED_BASE_URL
from local_model.process import LocalModel
from local_model.transport import EmbeddedModelTransport


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
def client(model: LocalModel) -> Iterator[httpx.Client]:
    transport = EmbeddedModelTransport(model)
    with httpx.Client(transport=transport, base_url=EMBEDDED_BASE_URL, timeout=60) as client:
        yield client
