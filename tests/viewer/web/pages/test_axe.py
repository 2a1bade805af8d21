"""Every page as axe-core sees it, which is fetched from npm: in both colours, wide and narrow."""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import beside, needs_chromium, opened
from tests.support.viewing import recorded
from viewer.experiments.notes import Notes
from viewer.web.cockpit import Cockpit
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [needs_chromium, pytest.mark.network]
ADDRESS = "https://registry.npmjs.org/axe-core/-/axe-core-4.14.1.tgz"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
RUN = """async () => {
    const found = await axe.run(document, {rules: {"target-size": {enabled: true}}});
    const where = node => `${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`;
    return found.violations.map(it => [it.id, it.help, ...it.nodes.map(where)]);
}"""
PAGES = {
    "#/": "table.episodes tbody tr",
    "#/?filter=nosuch:1": ".count[data-wrong=true]",
    "#/played/turn/6": ".map canvas",
    "#/all/experiments": ".plot canvas",
    "#/all/search?find=can": ".found mark",
    "#/compare/played/other": ".turns-beside td",
    "#/nowhere/at/all": "[role=alert]",
}
WIDTHS = {"wide": 1280, "middle": 900, "narrow": 390}


@pytest.fixture(scope="module")
def axe() -> str:
    with urllib.request.urlopen(ADDRESS, timeout=60) as answer:
        package = answer.read()
    assert base64.b64encode(hashlib.sha512(package).digest()).decode() == SHA512
    with tarfile.open(fileobj=io.BytesIO(package)) as files:
        source = files.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    workdir: Path = tmp_path_factory.mktemp("work")
    folder = beside(lambda: recorded(workdir))
    Notes(folder).write(None, "A good start", ["opening"])
    shutil.copytree(folder, folder.with_name("other"))
    with watching(workdir, open_browser=False, cockpit=Cockpit()) as address:
        yield address


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("place", PAGES)
def test_axe_finds_nothing(
    browser: Browser, address: str, axe: str, place: str, colours: str, width: str
) -> None:
    size = {"width": WIDTHS[width], "height": 800}
    base, _, token = address.partition("#/")
    options: dict[str, Any] = {"color_scheme": colours, "viewport": size}
    mark = "&" if "?" in place else "?"
    with opened(browser, f"{base}{place}{mark}{token.lstrip('?')}", **options) as page:
        expect(page.locator(PAGES[place]).first).to_be_attached()
        views = page.locator(".tabs:not(.sides) button").all() if width == "narrow" else []
        views = views or page.locator(".sides button").all()
        page.evaluate(axe)
        found = page.evaluate(RUN)
        for view in views:
            view.click()
            found += page.evaluate(RUN)
    assert found == []
