"""What was measured stands on a page that shows all of it."""

from rankloop.benchmark.measuring import Results, Section, as_markdown


def test_every_part_is_on_the_page_in_a_table_as_wide_as_its_columns():
    machine = {"processor": "A fast one", "cores": 2, "versions": {"python": "3.12"}}
    sections = [
        Section("Speed", ["", "a", "b"], [["x", "1", "2"]], {}),
        Section("Memory", ["", "MB"], [["y", "3"]], {}),
    ]
    page = as_markdown(Results(sections, machine))
    assert "Measured on A fast one, 2 cores; python 3.12." in page
    assert "## Speed\n\n|  | a | b |\n|---|---:|---:|\n| x | 1 | 2 |\n" in page
    assert page.endswith("| y | 3 |\n")
