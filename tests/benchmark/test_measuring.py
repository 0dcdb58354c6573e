"""What was measured stands on a page that shows all of it."""

from rankloop.benchmark import measuring
from rankloop.benchmark.measuring import Results, Section, as_markdown


def test_every_part_is_on_the_page_in_a_table_as_wide_as_its_columns():
    machine = {"processor": "A fast one", "cores": 2, "versions": {"python": "3.12"}, "load": 0.25, "commits": {}}
    sections = [
        Section("Speed", ["", "a", "b"], [["x", "1", "2"]], {}),
        Section("Memory", ["", "MB"], [["y", "3"]], {}),
    ]
    page = as_markdown(Results(sections, machine))
    assert "Measured on A fast one, 2 cores, with a load of 0.2 from other work when it began; python 3.12." in page
    machine["commits"] = {"rankloop": {"commit": "0123456789", "dirty": False}}
    assert "Measured at commit 0123456 on A fast one" in as_markdown(Results(sections, machine))
    assert "## Speed\n\n|  | a | b |\n|---|---:|---:|\n| x | 1 | 2 |\n" in page
    assert page.endswith("| y | 3 |\n")


def test_two_threads_are_held_against_the_same_runs_one_after_the_other(monkeypatch):
    tried = []
    monkeypatch.setattr(measuring, "_two_runs", lambda data, impressions, workers: tried.append(workers))
    monkeypatch.setattr(measuring, "_simulated_rate", lambda *_: 1.0)
    monkeypatch.setattr(measuring, "_seconds", lambda job: job() or {1: 2.0, 2: 1.0}[tried[-1]])
    section = measuring.two_threads(quick=True)
    assert tried == [1, 2] * 3
    assert section.values == {"ratio": 2.0}
    assert section.rows == [["one after the other", "10,000"], ["both at once", "20,000"], ["ratio", "2.00"]]
    assert measuring.two_threads in measuring.PARTS
