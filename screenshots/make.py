"""Makes README's pictures: ``python -m screenshots.make``, from the repository's root.

Each scene becomes an SVG, which is compared in CI (``--check``), and a PNG made from it with
Chromium and the font Fira Code, which is not. Without Chromium the PNGs stay as they are.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from screenshots.scenes import Scene

FOLDER = Path(__file__).parent
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_PAGE = '<!doctype html><body style="margin:0">{svg}</body>'


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the pictures, or say which ones are out of date; return the exit code."""
    parser = argparse.ArgumentParser(prog="screenshots.make", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if an SVG is not as committed"
    )
    check = parser.parse_args(arguments).check
    settle_environment()
    from screenshots.scenes import PICTURES

    stale = [scene.name for scene in PICTURES if not _made(scene, check)]
    for name in stale:
        print(f"out of date: screenshots/{name}.svg", file=sys.stderr)
    return 1 if stale else 0


def settle_environment() -> None:
    """Take away what differs between machines: colours, the theme, who is at the keyboard."""
    for name in [name for name in os.environ if name.startswith(("TEXTUAL", "NO_COLOR"))]:
        del os.environ[name]
    os.environ["LOGNAME"] = "ada"


def draw(scene: Scene) -> str:
    """Play a scene and return the screen as SVG."""
    from textual._doc import take_svg_screenshot

    with tempfile.TemporaryDirectory() as folder:
        app = scene.build(Path(folder))

        async def play(pilot: Pilot[None]) -> None:
            await scene.play(app, pilot)

        return take_svg_screenshot(app=app, terminal_size=scene.size, run_before=play)


def _made(scene: Scene, check: bool) -> bool:
    svg, target = draw(scene), FOLDER / f"{scene.name}.svg"
    if check:
        return target.exists() and target.read_text("utf-8") == svg
    target.write_text(svg, "utf-8")
    print(f"screenshots/{target.name}", file=sys.stderr)
    if browser := next(filter(None, map(shutil.which, _BROWSERS)), None):
        _rasterise(browser, svg, target.with_suffix(".png"))
    return True


def _rasterise(browser: str, svg: str, target: Path) -> None:
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(_PAGE.format(svg=svg), "utf-8")
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--no-first-run",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size={round(float(width))},{round(float(height))}",
                f"--screenshot={target}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )
    print(f"screenshots/{target.name}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
