"""The pictures of the dashboard and of the study viewer: `python -m website.pictures` takes them in a browser.

The dashboard shows a furniture shop with five days of simulated visitors, the viewer the study `quick`, which is run
for it. Needs playwright and a chromium.
"""

import io
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from PIL import Image
from tests.web.dashboard.running import make_past, running, shop

from website.capture import PICTURES, RANKLOOP, WHOLE_WIDTH, browsing, served
from website.shop import Shop

HOUR = 3_600_000
MARGIN = 16
"""Pixels around a part of a page."""
READY = """
() => !document.querySelector("figure.chart:not([data-points])") &&
  [...document.querySelectorAll(".state")].every((one) => one.textContent.includes("healthy")) &&
  [...document.images].every((one) => one.complete || one.getBoundingClientRect().top > innerHeight)
"""


LEARNERS = "[aria-label='Six methods: all learners'] table"


class Shot(NamedTuple):
    """A picture of a page: where it is, how large, by day or by night, and up to where it goes."""

    name: str
    address: str
    size: tuple[int, int]
    scheme: str = "light"
    element: str = ""
    """Only this part of the page."""
    click: str = ""
    """What is clicked before."""


DASHBOARD = (
    Shot("dashboard", "/models/shop", (1280, 780)),
    Shot("dashboard-dark", "/models/shop", (1280, 780), "dark"),
    Shot("dashboard-phone", "/models/shop", (360, 740)),
    Shot("dashboard-queries", "/models/shop/queries", (1280, 780)),
)
STUDIES = (
    Shot("studies", "/study/quick", (1100, 1125)),
    Shot("studies-table", "/study/quick", (1100, 1125), element=LEARNERS, click="th:has-text('online nDCG') button"),
)


def take(browser: Any, url: str, shot: Shot) -> bytes:
    """A page as it stands once its charts are drawn."""
    width, height = shot.size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=shot.scheme, locale="en-GB", is_mobile=width < 400
    )
    page.add_init_script(WHOLE_WIDTH)
    page.goto(url + shot.address)
    page.wait_for_function(READY)
    if shot.click:
        page.locator(shot.element).locator(shot.click).first.click()
        page.mouse.move(0, 0)
    png: bytes = page.screenshot(
        clip=_framed(page, shot.element) if shot.element else None, full_page=bool(shot.element)
    )
    page.close()
    return png


def _framed(page: Any, element: str) -> dict[str, float]:
    """An element with a margin around it, as a clip of the whole page."""
    page.evaluate("scrollTo(0, 0)")
    box = page.locator(element).first.bounding_box()
    clip = {"x": box["x"] - MARGIN, "y": box["y"] - MARGIN}
    return clip | {side: box[side] + 2 * MARGIN for side in ("width", "height")}


def small(png: bytes) -> bytes:
    """The same in 256 colours: what a page is made of has no more."""
    packed = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        packed, "PNG", optimize=True
    )
    return packed.getvalue()


@contextmanager
def dashboard(folder: Path) -> Iterator[str]:
    """A service whose model has been visited for five days: its address."""

    def prepare(store: Any) -> None:
        make_past(store, shop(), 5 * 24, 40, minute=HOUR, asks=Shop(), seed=2)

    with running(str(folder / "shop.db"), prepare=prepare) as service:
        yield service.url


@contextmanager
def studies(folder: Path) -> Iterator[str]:
    """The viewer on the study `quick`: its address."""
    subprocess.run([*RANKLOOP, "run", "quick", "--out", str(folder / "quick")], check=True, stdout=subprocess.DEVNULL)
    with served("report", str(folder), "--serve", told="stderr") as url:
        yield url


def main() -> None:
    """Take them all."""
    with TemporaryDirectory() as folder, browsing() as browser:
        for serve, shots in ((dashboard, DASHBOARD), (studies, STUDIES)):
            with serve(Path(folder)) as url:
                for shot in shots:
                    path = PICTURES / f"{shot.name}.png"
                    path.write_bytes(small(take(browser, url, shot)))
                    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
