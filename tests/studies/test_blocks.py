"""Every kind of block can be written as Markdown, read back, and shown on a page."""

from typing import get_args

import pytest

from rankloop.studies import blocks, page
from rankloop.studies.blocks import Code, Definitions, Folded, Heading, Paragraph, Picture, Tabulated
from rankloop.studies.tables import Column, Entry, Table
from rankloop.web.studies.reading import read_markdown

TABLE = Table("", "Numbers", (Column("Method", "name"), Column("nDCG")), ((Entry("ROLTR"), Entry("0.5", best=True)),))
EXAMPLES = (
    Heading(2, "What was run"),
    Paragraph("Some <words> about it."),
    Definitions((("runs", "12"), ("user & co", "noisy"))),
    Picture("g-curves", "Curves", "Mean of 3 runs."),
    Tabulated(TABLE),
    Code("rankloop run quick"),
    Folded("Settings", '{"a": "```"}'),
)


def test_every_kind_has_an_example():
    assert {type(block) for block in EXAMPLES} == set(get_args(blocks.Block))


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: type(block).__name__)
def test_a_block_comes_back_from_markdown_as_the_same_text(block):
    written = page.markdown([Heading(1, "Mine"), block])
    read = read_markdown(written)
    assert type(block) in {type(one) for one in read}
    assert page.markdown(read) == written


def test_a_page_shows_what_each_block_says(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "g-curves.svg").write_text('<svg viewBox="0 0 30 15"></svg>')
    shown = page.html("Mine", EXAMPLES, tmp_path)
    for text in ("What was run", "Some &lt;words&gt; about it.", "user &amp; co", "Mean of 3 runs.", "ROLTR",
                 "rankloop run quick", "Settings"):  # fmt: skip
        assert text in shown
    assert 'width="40" height="20"' in shown
