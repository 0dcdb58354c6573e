"""A table says the same in every format, whatever its names hold."""

import re
import shutil
import subprocess
from csv import DictReader
from io import StringIO

import pytest
from tests.skipping import skip_here

from rankloop.display.pictures import Size
from rankloop.studies import formats, page, report
from rankloop.studies.blocks import Tabulated
from rankloop.studies.tables import Column, Entry, Table

from .tabulated import cell_of, grid_table, level, online_table, study

HOSTILE = '<script>alert(1)</script> & a_b 5% $x$ #1 {y} | ^~ \\end{tabular} "q"'

FORMULA = "αβγδεζηθικλμνξπρστυφχψω ΓΔΘΛΞΠΣΦΨΩ x₀⁻¹² ≠ √∞, ∇ ∝ ∂ ∈ ∼ ± ½ † ★ „é“"


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


def test_a_table_has_every_name_in_every_row_and_its_marks():
    rows = ((Entry("noisy"), Entry("0.5", best=True, mark="▲")), (Entry("noisy"), Entry("a,b")))
    table = Table("t", "T", (Column("User", "name"), Column("nDCG")), rows, groups=1)
    assert list(DictReader(StringIO(formats.csv(table)))) == [
        {"User": "noisy", "nDCG": "0.5 ▲"},
        {"User": "noisy", "nDCG": "a,b"},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("size", [Size(3.3), Size(7.0)])
def test_latex_compiles_whatever_names_hold(made_up, tmp_path, size):
    compiler = shutil.which("pdflatex") or skip_here("no LaTeX compiler: pdflatex is not installed")
    results = made_up(study({"learner": "ROLTR", "label": HOSTILE}, {"learner": "PDGD", "label": FORMULA}))
    report.write(results, tmp_path)
    report.write_for_print(results, tmp_path, ["pdf"], size)
    document = (
        r"\documentclass{article}\usepackage{booktabs,amssymb,graphicx}\begin{document}"
        r"\input{tables}\input{figures}\end{document}"
    )
    (tmp_path / "all.tex").write_text(document)
    done = subprocess.run(
        [compiler, "-interaction=nonstopmode", "-halt-on-error", "all.tex"], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000
    assert "Overfull" not in done.stdout.decode(errors="replace")


def test_what_formulas_are_written_with_becomes_commands():
    assert formats.escape_latex("κ₁ ≠ Δ⁻²") == r"$\kappa$$_{1}$ $\ne$ $\Delta$$^{-}$$^{2}$"


def test_wide_and_long_tables_fit_a_page(tmp_path):
    compiler = shutil.which("pdflatex") or skip_here("no LaTeX compiler: pdflatex is not installed")
    columns = (Column("people", "name"), *(Column(f"method {i}") for i in range(14)), Column("how", "words"))
    rows = tuple((Entry("navigational"), *([Entry("0.1234 ± 0.0012")] * 14), Entry("a b c " * 9)) for _ in range(70))
    (tmp_path / "all.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,amssymb,graphicx}\begin{document}"
        + formats.latex(Table("t", "Large", columns, rows))
        + formats.latex(Table("t", "Small", columns[:3], tuple(row[:3] for row in rows[:3])))
        + r"\end{document}"
    )
    done = subprocess.run([compiler, "-interaction=nonstopmode", "all.tex"], cwd=tmp_path, capture_output=True)
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, said[-3000:]
    assert "Overfull" not in said
    assert "too large" not in said
