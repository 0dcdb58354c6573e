"""The documentation says what was measured."""

import json
from pathlib import Path

from benchmarks.steering.__main__ import BEFORE, table

DOCS = Path(__file__).parents[3] / "docs/security.md"


def test_the_documentation_shows_the_figures_that_were_measured():
    before, now = (json.loads(BEFORE.with_name(name).read_text()) for name in ("before.json", "figures.json"))
    text = DOCS.read_text(encoding="utf-8")
    assert table(before, now) in text
    assert before["commit"] in text
    assert now["commit"] in text
