"""The pictures of the demo, one of which moves: `python -m website.capture` plays the story in a browser.

Little depends on how fast the machine is: a frame is taken when the page shows what it is to show, what glides is moved
on by hand between two frames, and how long a frame stands is written down with it. Needs playwright and a chromium.
"""

import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from PIL import Image

PICTURES = Path(__file__).parents[1] / "docs" / "images"
STORY, CLICKED, DARK = (PICTURES / name for name in ("demo.webp", "demo-click.png", "demo-dark.png"))
SIZE = (1180, 960)
WIDTH = 820
"""Of the picture, in pixels: about as wide as a README is shown."""
VISITORS_A_FRAME = 70
_PACE = 100  # milliseconds between two frames of something that moves
_GLIDE = 700  # how long demo.js lets a result glide
_PATIENCE = 600_000.0
RANKLOOP = (sys.executable, "-c", "from rankloop.cli import main; main()")

# A picture has no scrollbar, so no room is kept for one.
WHOLE_WIDTH = """
addEventListener("DOMContentLoaded", () => { document.documentElement.style.scrollbarGutter = "auto"; });
"""
# A pointer, for a screenshot has none; and what is animated waits to be moved on by hand.
_STAGE = """
addEventListener("DOMContentLoaded", () => {
  const arrow = new DOMParser().parseFromString(
    '<svg xmlns="http://www.w3.org/2000/svg" id="pointer" width="26" height="26" viewBox="0 0 26 26">' +
    '<path d="M3 2v18l5-4.5 3.2 7 3-1.4-3.2-6.8H18z" fill="#111" stroke="#fff" stroke-width="1.5"/></svg>',
    "image/svg+xml").documentElement;
  Object.assign(arrow.style, { position: "fixed", zIndex: 99, left: "0", top: "0", pointerEvents: "none" });
  document.body.append(arrow);
});
const animate = Element.prototype.animate;
Element.prototype.animate = function (frames, timing) {
  const one = animate.call(this, frames, timing);
  one.pause();
  return one;
};
"""


class Frame(NamedTuple):
    """A screenshot, and for how many milliseconds it stands."""

    png: bytes
    milliseconds: int


class Camera:
    """Takes frames of a page."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._pointer = (SIZE[0] * 0.5, SIZE[1] * 0.4)
        self.frames: list[Frame] = []

    def take(self, milliseconds: int) -> None:
        """The page as it stands."""
        x, y = self._pointer
        self._page.evaluate(f"Object.assign(pointer.style, {{ left: '{x:.0f}px', top: '{y:.0f}px' }})")
        self.frames.append(Frame(self._page.screenshot(), milliseconds))

    def point(self, selector: str) -> None:
        """The pointer goes to an element."""
        box = self._page.locator(selector).bounding_box(timeout=_PATIENCE)
        start, end = self._pointer, (box["x"] + min(box["width"] / 2, 60), box["y"] + box["height"] / 2)
        steps = 6
        for step in range(1, steps + 1):
            share = step / steps
            share = share * share * (3 - 2 * share)  # slowly off, slowly there
            x, y = (a + (b - a) * share for a, b in zip(start, end, strict=True))
            self._pointer = (x, y)
            self.take(_PACE // 2)

    def glide(self, *moments: int) -> None:
        """Everything that moves, at these milliseconds after it began, and then where it ends."""
        for moment in moments:
            self._page.evaluate(f"document.getAnimations().forEach((one) => {{ one.currentTime = {moment}; }})")
            self.take(_PACE)
        self._page.evaluate("document.getAnimations().forEach((one) => one.finish())")


def play(page: Any, url: str) -> list[Frame]:
    """The story: a search, a click, a thousand visitors, and a thousand who want something else."""
    camera = Camera(page)
    page.goto(f"{url}/demo", timeout=_PATIENCE)
    camera.take(2500)
    camera.point("#results .now li:nth-child(10) button.link")
    camera.take(300)
    was = page.locator("#results").get_attribute("data-impression")
    page.locator("#results button.link").nth(9).evaluate("button => button.click()")  # no pointer over the results
    page.wait_for_selector(f"#results:not([data-impression='{was}'])", timeout=_PATIENCE)
    camera.glide(*range(0, _GLIDE, _PACE))
    camera.take(2600)
    CLICKED.write_bytes(camera.frames[-1].png)
    _send(page, camera, 1000)
    camera.take(1500)
    camera.point("#taste")
    page.select_option("#taste", "readers")
    page.wait_for_selector("#status[data-taste='readers']", timeout=_PATIENCE)
    camera.take(900)
    _send(page, camera, 2000)
    camera.take(3000)
    return camera.frames


def _send(page: Any, camera: Camera, until: int) -> None:
    """Send a thousand visitors: three frames whenever some more of them have come, until all have."""
    camera.point("#send")
    page.locator("#send").evaluate("button => button.click()")
    seen = until - 1000
    while seen < until:
        page.wait_for_timeout(50)
        visits = int(page.locator("#status").get_attribute("data-visits") or 0)
        if visits >= min(seen + VISITORS_A_FRAME, until):
            seen = visits
            camera.glide(_GLIDE // 6, _GLIDE // 3, _GLIDE * 2 // 3)


def encode(frames: list[Frame], path: Path, width: int = WIDTH) -> None:
    """Write frames as an animated WebP that begins anew when it has ended."""
    images = [Image.open(io.BytesIO(frame.png)).convert("RGB") for frame in frames]
    height = round(images[0].height * width / images[0].width)
    first, *others = [image.resize((width, height), Image.Resampling.LANCZOS) for image in images]
    durations = [frame.milliseconds for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, quality=50, method=4)


@contextmanager
def served(*command: str, told: Literal["stdout", "stderr"] = "stdout") -> Iterator[str]:
    """What a command of rankloop serves on a free port: its address, as it is told first on one of its streams."""
    arguments = [*RANKLOOP, *command, "--port", "0", "--no-browser"]
    with subprocess.Popen(arguments, **{told: subprocess.PIPE}, text=True) as process:
        try:
            said = getattr(process, told).readline()  # when the first page is there
            found = re.search(r"http://[\d.:]+", said)
            if found is None:
                raise RuntimeError(f"rankloop {command[0]} did not start: {said!r}")
            yield found[0]
        finally:
            process.terminate()


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def main() -> None:
    """Play the story and write the picture."""
    with served("demo") as url, browsing() as browser:
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.set_default_timeout(_PATIENCE)
        page.add_init_script(WHOLE_WIDTH)
        page.add_init_script(_STAGE)
        frames = play(page, url)
        page.emulate_media(color_scheme="dark")
        page.evaluate("pointer.remove(); document.getAnimations().forEach((one) => one.finish())")
        page.screenshot(path=DARK)
    encode(frames, STORY)
    seconds = sum(frame.milliseconds for frame in frames) / 1000
    print(f"{STORY}: {len(frames)} frames, {seconds:.1f} s, {STORY.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
