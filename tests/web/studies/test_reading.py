"""Reports that were kept as Markdown alone lose nothing by being read back."""

from pathlib import Path

import pytest

from rankloop.studies import figures, page, report
from rankloop.studies.blocks import Code, Definitions, Folded, Picture, Tabulated
from rankloop.studies.records import read_results
from rankloop.web.studies.reading import read_markdown

pytestmark = pytest.mark.xdist_group("studies")
KEPT = sorted((Path(__file__).parents[3] / "docs" / "results").glob("*/report.md"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_a_kept_report_read_and_written_again_is_the_same_text(path):
    text = path.read_text(encoding="utf-8")
    blocks = read_markdown(text)
    assert page.markdown(blocks) == text
    assert {Code, Definitions, Folded, Picture, Tabulated} <= {type(block) for block in blocks}


def test_names_that_look_like_markdown_come_back_as_they_were(hostile):
    results = read_results(hostile)
    blocks = report.blocks_for(results, figures.figures_for(results))
    read = read_markdown(page.markdown(blocks))
    assert page.markdown(read) == page.markdown(blocks)
    told = [block.table.rows for block in blocks if isinstance(block, Tabulated)]
    found = [block.table.rows for block in read if isinstance(block, Tabulated)]
    assert [[[cell.text for cell in row] for row in rows] for rows in found] == [
        [[cell.text for cell in row] for row in rows] for rows in told
    ]


def test_any_text_can_be_read():
    for text in ("", "# ", "<details><summary>x</summary>", "```\nno end", "**t**\n\n| a |", "- **odd", "|", "![](x)"):
        read_markdown(text)
    assert read_markdown("# T\n\nsome <b>text</b>")[1].text == "some <b>text</b>"
