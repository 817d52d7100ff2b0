"""The README's animation: a session on the toy, stepped in a real JupyterLab and recorded.

``python -m tools.animation`` writes ``docs/images/explorer-steps.webp``. It needs chromium, like
the tests in a browser, whose server and page it uses. The recording is at the size at which it is
shown, so that its letters are as sharp as the page's.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PIL import Image

from tests.browser.acting import FOOD, FOR, STEP, TOY, at, press, rest
from tests.browser.conftest import CHROMIUM, PATIENCE, Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

TARGET: Final = Path(__file__).resolve().parents[1] / "docs" / "images" / "explorer-steps.webp"
WIDTH, HEIGHT = 1090, 1400
"""The width of the window in pixels; the explorer is 180 narrower."""

SHORT, LONG = 1500, 3200
"""The milliseconds that a frame is shown: after a step, and with something to read."""


def main() -> None:
    """Record the animation and write it."""
    parser = argparse.ArgumentParser(prog="python -m tools.animation", description=__doc__)
    parser.add_argument("--frames", type=Path, help="a folder for the single frames, too")
    given: Path | None = parser.parse_args().frames
    frames = recorded()
    if given is not None:
        for number, (frame, _) in enumerate(frames):
            frame.save(given / f"frame-{number:02}.png")
    write_animation(frames, TARGET)
    size = TARGET.stat().st_size / 1000
    print(f"{TARGET}: {len(frames)} frames of {frames[0][0].size}, {size:.0f} kB")


def recorded() -> list[tuple[Image.Image, int]]:
    """Step through the toy in a real page.

    Returns:
        Each frame and the milliseconds that it is shown, all of one size.
    """
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
        try:
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
            )
            context.set_default_timeout(PATIENCE)
            notebook = Notebook(context.new_page(), lab).open(lab.code("toy.ipynb", TOY))
            notebook.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
            if not notebook.run_all():
                raise RuntimeError("The cell of the toy failed.")
            taken = [(_picture(toy), shown) for toy, shown in _story(notebook.explorer())]
        finally:
            browser.close()
            lab.stop()
    height = max(picture.height for picture, _ in taken)
    return [(_of_height(picture, height), shown) for picture, shown in taken]


def _story(toy: Locator) -> Iterator[tuple[Locator, int]]:
    """Use the explorer, and yield an element and a duration whenever a frame is to be taken."""
    at(toy, 0)
    yield toy, LONG
    press(toy, STEP)
    at(toy, 1)
    yield toy, SHORT
    toy.locator(f'.lmx-row[data-token="{FOR}"]').click()
    toy.locator(".lmx-why .lmx-act").wait_for()
    rest(toy)
    yield toy, 2 * LONG
    toy.locator(f'.lmx-row[data-token="{FOR}"]').press("Escape")
    toy.get_by_label("slow motion").check()
    toy.locator(f'.lmx-row[data-token="{FOOD}"] .take').click()
    for byte in range(1, 5):
        at(toy, 1, f"byte {byte} of 4")
        yield toy, SHORT
        press(toy, STEP)
    at(toy, 2)
    yield toy, LONG
    toy.get_by_label("slow motion").uncheck()
    press(toy, STEP)
    at(toy, 3)
    yield toy, LONG


def _picture(toy: Locator) -> Image.Image:
    toy.page.mouse.move(3, 3)
    rest(toy)
    toy.page.wait_for_timeout(400)
    return Image.open(io.BytesIO(toy.screenshot(animations="disabled"))).convert("RGB")


def _of_height(picture: Image.Image, height: int) -> Image.Image:
    """The picture with white below it."""
    whole = Image.new("RGB", (picture.width, height), "white")
    whole.paste(picture, (0, 0))
    return whole


def write_animation(frames: list[tuple[Image.Image, int]], path: Path) -> None:
    """Write the frames as one file that repeats.

    Args:
        frames: Each frame and its milliseconds.
        path: A ``.webp`` file.
    """
    first, *others = (frame for frame, _ in frames)
    first.save(
        path, save_all=True, append_images=others, duration=[shown for _, shown in frames], loop=0,
        lossless=True, quality=100, method=6, minimize_size=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
