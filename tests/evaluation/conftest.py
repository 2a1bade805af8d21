"""An evaluation of the bundled story, and the model that plays in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelServer
from tests.evaluation.evaluations import Evaluation, Model


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model) -> Iterator[ModelServer]:
    with ModelServer(model) as server:
        yield server


@pytest.fixture
def evaluation(tmp_path: Path, server: ModelServer) -> Evaluation:
    return Evaluation(tmp_path, server.base_url)
