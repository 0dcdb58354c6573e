"""The moving picture at the top of the README: how it is made, and that it is small and lasts twenty seconds."""

import io

import pytest

capture = pytest.importorskip("website.capture", reason="the pictures of the docs are made in a clone")
Image = pytest.importorskip("PIL.Image")


def frame(colour, milliseconds):
    png = io.BytesIO()
    Image.new("RGB", (80, 60), colour).save(png, "PNG")
    return capture.Frame(png.getvalue(), milliseconds)


def durations(path):
    """How long each frame of a moving picture stands, and whether it begins anew."""
    times, start = [], 0
    with Image.open(path) as picture:
        for number in range(picture.n_frames):
            picture.seek(number)
            picture.load()
            times.append(picture.info["timestamp"] + picture.info["duration"] - start)
            start = picture.info["timestamp"] + picture.info["duration"]
        return times, picture.info["loop"] == 0


def test_frames_become_a_picture_that_moves_at_their_pace_and_begins_anew(tmp_path):
    path = tmp_path / "story.webp"
    capture.encode([frame("white", 500), frame("navy", 100), frame("white", 200)], path, width=40)
    assert durations(path) == ([500, 100, 200], True)
    with Image.open(path) as picture:
        assert picture.size == (40, 30)


def test_the_pictures_of_the_demo_are_there_small_and_twenty_seconds_long():
    times, again = durations(capture.STORY)
    assert 15_000 <= sum(times) <= 25_000
    assert again
    assert capture.STORY.stat().st_size < 1_500_000
    for still in (capture.CLICKED, capture.DARK):
        assert still.stat().st_size < 300_000


def test_the_readme_shows_it_on_its_first_screen():
    lines = (capture.PICTURES.parents[1] / "README.md").read_text("utf-8").splitlines()
    [shown] = [number for number, line in enumerate(lines, 1) if "docs/images/demo.webp" in line]
    assert shown <= 25
    assert not any(line.startswith("![") for line in lines[: shown - 1])
