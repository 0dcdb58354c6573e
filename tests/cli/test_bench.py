"""`rankloop bench`: what was measured as a table, as Markdown and as JSON."""

import json

import pytest

from rankloop.benchmark import devices, measuring
from rankloop.benchmark.measuring import Section


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    """Nothing is measured: two parts that know their results, and whether they were asked to be quick."""
    asked = []

    def part(title):
        def measure(quick):
            asked.append(quick)
            return Section(title, ["method", "impressions/s"], [["ROLTR", "12,345"]], {"ROLTR": 12345.0})

        return measure

    monkeypatch.setattr(measuring, "PARTS", (part("first"), part("second")))
    return asked


def test_every_part_is_a_table(rankloop, measured):
    code, out, progress = rankloop("bench", "--quick")
    assert code == 0
    assert out.count("12,345") == 2
    assert "2 of 2 done (second)" in progress
    assert measured == [True, True]


def test_json_has_the_values_and_the_machine(rankloop, measured):
    found = json.loads(rankloop("bench", "--json")[1])
    assert [section["values"] for section in found["sections"]] == [{"ROLTR": 12345.0}] * 2
    assert found["manifest"]["cores"] >= 1
    assert measured == [False, False]


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(rankloop, measured, tmp_path):
    code, _, said = rankloop("bench", "--out", tmp_path / "nowhere" / "bench.md")
    assert (code, measured) == (2, [])
    assert "No such file" in said
    assert rankloop("bench", "--out", tmp_path / "bench.md")[0] == 0
    assert "## second" in (tmp_path / "bench.md").read_text()


def test_without_a_device_nothing_is_said_to_be_measured(rankloop, monkeypatch):
    monkeypatch.setattr(devices, "why_no_device", lambda: "there is no CUDA device on this machine")
    code, out, progress = rankloop("bench", "--on", "gpu")
    assert (code, out) == (2, "")
    assert "bench: there is no CUDA device" in progress
    assert "to do" not in progress
