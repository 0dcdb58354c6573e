"""A report's blocks as a page: sections, pictures with their size, and a policy that allows nothing else."""

import base64
import hashlib
import struct

import pytest

from rankloop.errors import DataError
from rankloop.studies import page
from rankloop.studies.blocks import Heading, Paragraph, Picture, Tabulated
from rankloop.studies.tables import Column, Entry, Table

TABLE = Table(
    "t", "A table", (Column("name", "name"), Column("n")), ((Entry("a"), Entry("1")), (Entry("a"), Entry("2"))), 1
)


def test_title_and_question_stand_above_the_sections_and_tables_are_numbered():
    section = [Heading(2, "A & b"), Paragraph("text"), Tabulated(TABLE)]
    blocks = [Heading(1, "T"), Paragraph("Why?", "question"), *section, *section]
    sections = page.sections_of(blocks)
    assert [(one.anchor, one.title) for one in sections] == [("1-a-b", "A & b"), ("2-a-b", "A & b")]
    assert [[(part.kind, part.number) for part in one.parts if part.kind == "tabulated"] for one in sections] == [
        [("tabulated", 1)], [("tabulated", 2)],
    ]  # fmt: skip


def test_a_repeated_name_is_there_for_who_cannot_see_that_it_repeats(tmp_path):
    text = page.html("T", [Tabulated(TABLE)], tmp_path)
    assert '<td class="same"><span>a</span></td>' in text


def test_a_policy_names_each_style_by_its_hash():
    digest = base64.b64encode(hashlib.sha256(b"p {}").digest()).decode()
    assert f"style-src 'sha256-{digest}';" in page.policy_for(["p {}"])
    assert "style-src 'none';" in page.policy_for([])


def test_pictures_know_their_size():
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480)
    assert page.size_of(png) == (640, 480)
    assert page.size_of(b'<svg width="1" viewBox="0 0 300 150">') == (400, 200)
    assert page.size_of(b"neither") == (1000, 500)


def test_a_figure_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.svg"):
        page.html("T", [Picture("gone", "A figure", "of nothing")], tmp_path)
