from __future__ import annotations

import pytest

from screenshots.make import FOLDER, draw
from screenshots.scenes import PICTURES, Scene


@pytest.mark.parametrize("scene", PICTURES, ids=lambda scene: scene.name)
def test_the_committed_picture_is_what_its_scene_draws(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    assert draw(scene) == (FOLDER / f"{scene.name}.svg").read_text("utf-8")
