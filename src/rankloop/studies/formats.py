"""A table as Markdown, LaTeX (booktabs) or CSV, with whatever a name may hold escaped for each."""

import re

from rankloop.display.spreadsheets import csv_text
from rankloop.studies.tables import Entry, Table

LATEX_PREAMBLE = "% needs \\usepackage{booktabs,amssymb,graphicx} and, in older LaTeX, \\usepackage[utf8]{inputenc}\n"
# What is wider or longer than the page has room for is made to fit; everything else stays as it is.
_NOT_WIDER = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_FITTED = r"\resizebox*{!}{\ifdim\totalheight>0.8\textheight 0.8\textheight\else\totalheight\fi}{%" + f"\n{_NOT_WIDER}"

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_SIGNS = {
    "×": "times", "·": "cdot", "≤": "le", "≥": "ge", "≠": "ne", "→": "to", "←": "gets", "≈": "approx", "∞": "infty",
    "√": "surd", "∈": "in", "∂": "partial", "∇": "nabla", "∼": "sim", "∝": "propto", "′": "prime", "★": "star",
    "△": "vartriangle", "▲": "blacktriangle", "▽": "triangledown", "▼": "blacktriangledown", "±": "pm",
}  # fmt: skip
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "\"": "''", "−": "$-$", "–": "--", "…": r"\ldots{}", "„": ",,",
} | {letter: f"$\\{name}$" for letter, name in (_GREEK | _SIGNS).items()}  # fmt: skip
_LATEX |= {letter: f"$_{{{index}}}$" for index, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_LATEX |= {letter: f"$^{{{sign}}}$" for letter, sign in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True)}


def markdown(table: Table) -> str:
    """A pipe table, its title above and its notes below."""
    lines = [f"**{escape_markdown(table.title)}**", ""]
    lines.append(_piped([escape_markdown(column.heading) for column in table.columns]))
    lines.append(_piped(["--:" if column.kind == "number" else ":--" for column in table.columns]))
    for row in (row for group in table.grouped() for row in group):
        lines.append(_piped([_markdown_cell(cell) for cell in row]))
    notes = [escape_markdown(note) for note in table.all_notes]
    return "\n".join([*lines, "", " ".join(notes)]) + "\n"


def escape_markdown(text: str) -> str:
    r"""Text that Markdown leaves alone.

    >>> print(escape_markdown("a_b <script> | *"))
    a\_b \<script\> \| \*
    """
    return re.sub(r"([\\`*_\[\]<>|&~$])", r"\\\1", text)


def latex(table: Table) -> str:
    """A `table` with booktabs rules, no larger than a page, its notes in small print."""
    running = sum(column.kind == "words" for column in table.columns)
    share = f"p{{{0.6 / max(1, running):.1f}\\linewidth}}"
    spec = "".join({"number": "r", "name": "l"}.get(column.kind, share) for column in table.columns)
    groups = [
        "\n".join(" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in group) for group in table.grouped()
    ]
    heading = " & ".join(escape_latex(column.heading) for column in table.columns)
    notes = " ".join(escape_latex(note) for note in table.all_notes)
    return "\n".join(
        [
            r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(table.title)}}}",
            _FITTED, rf"\begin{{tabular}}{{{spec}}}", r"\toprule", heading + r" \\", r"\midrule",
            "\n\\midrule\n".join(groups), r"\bottomrule", r"\end{tabular}}}",
            rf"\par\smallskip{{\footnotesize {notes}\par}}", r"\end{table}", "",
        ]
    )  # fmt: skip


def latex_figure(name: str, title: str, caption: str) -> str:
    """A `figure` that includes a picture by its file name, no wider than the text, with a caption and a label."""
    return "\n".join(
        [
            r"\begin{figure}", r"\centering", _NOT_WIDER, rf"\includegraphics{{{name}}}}}",
            rf"\caption{{{escape_latex(title)}. {escape_latex(caption)}}}", rf"\label{{fig:{name}}}", r"\end{figure}",
            "",
        ]
    )  # fmt: skip


def csv(table: Table) -> str:
    """A table as it is shown, with every name in every row."""
    return csv_text([column.heading for column in table.columns], ([cell.plain for cell in row] for row in table.rows))


def escape_latex(text: str) -> str:
    r"""Text that LaTeX prints as it stands; marks, signs and Greek letters become their commands.

    Other scripts than Latin and Greek are left as they are: XeLaTeX and LuaLaTeX print them, pdfLaTeX does not.

    >>> print(escape_latex("50 % of a_b, γ=0"))
    50 \% of a\_b, $\gamma$=0
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Entry) -> str:
    shown = escape_markdown(cell.text)
    return f"{f'**{shown}**' if cell.best and shown else shown} {cell.mark}".strip()


def _latex_cell(cell: Entry) -> str:
    shown = escape_latex(cell.text)
    shown = rf"\textbf{{{shown}}}" if cell.best else shown
    return f"{shown} {escape_latex(cell.mark)}".strip()
