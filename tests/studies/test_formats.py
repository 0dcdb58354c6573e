"""A table says the same in every format, whatever its names hold."""

import re

from rankloop.studies import formats, page
from rankloop.studies.blocks import Tabulated

from .tabulated import cell_of, grid_table, level, online_table, study

HOSTILE = '<script>alert(1)</script> & a_b 5% $x$ #1 {y} | ^~ \\end{tabular} "q"'


def test_every_format_has_the_same_numbers(made_up, tmp_path):
    table = online_table(made_up(study(), online=level))
    best = cell_of(table, "ROLTR").text
    assert f"| **{best}** ▲ |" in formats.markdown(table)
    in_latex = best.replace("±", r"$\pm$")
    assert rf"\textbf{{{in_latex}}} $\blacktriangle$ \\" in formats.latex(table)
    assert f"<strong>{best}</strong> ▲</td>" in page.html("t", [Tabulated(table)], tmp_path)


def test_hostile_names_are_escaped(made_up, tmp_path):
    learners = ({"learner": "ROLTR", "label": HOSTILE}, {"learner": "PDGD"})
    table = grid_table(made_up(study(*learners)))
    shown = page.html("t", [Tabulated(table)], tmp_path)
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; a_b 5% $x$" in shown
    assert r"\textless{}script\textgreater{}" in formats.latex(table)
    assert r"\& a\_b 5\% \$x\$ \#1 \{y\}" in formats.latex(table)
    assert formats.latex(table).count(r"\end{tabular}") == 1
    assert r"\<script\>" in formats.markdown(table)
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in formats.markdown(table).splitlines() if line[:1] == "|"}
    assert bars == {7}
