"""How pictures look: one calm style, colours that survive colour blindness, bands, and names at the ends of lines.

Studies and notebooks draw with these pieces. A picture is drawn for the screen unless it is given a size: then it is
for print, with smaller type and fonts that can be embedded.
"""

import io
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from rankloop.errors import DataError, SettingsError
from rankloop.settings import flat, is_number, varying

# Okabe and Ito's palette; ROLTR, the subject, gets the strongest colour.
CYCLE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#000000")
_METHODS = {"ROLTR": 0, "PDGD": 1, "COLTR": 2, "PMGD": 3, "DBGD": 4, "MDPRank": 6}
DASHES = ("-", "--", ":", "-.")
_LETTER = 0.56  # of its height: a letter is a bit wider than half of it
_LONGEST = 26  # characters of a name beside a line
_NARROWEST = 2.4  # inches of a panel, below which panels stand one below the other
_LOWEST = 0.8  # inches of a panel, below which nothing is left beside its title and scale
_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
FORMATS = ("pdf", "svg", "png")


class Size(NamedTuple):
    """Of a picture in print, in inches; without a height, as high as it needs to be."""

    width: float
    height: float | None = None

    @classmethod
    def of(cls, width: str | float, height: str | float | None = None) -> "Size":
        """From lengths as people write them; a number is one of inches, text has a unit.

        >>> Size.of("8.4cm").width == 8.4 / 2.54, Size.of(3.3, "2in")
        (True, Size(width=3.3, height=2.0))
        """
        return cls(_inches("width", width), None if height is None else _inches("height", height))


def _inches(name: str, length: str | float) -> float:
    written = re.fullmatch(
        r"\s*(\d+\.?\d*|\.\d+)\s*(in|cm|mm|pt)\s*", length if isinstance(length, str) else f"{length}in"
    )
    inches = float(written[1]) * _UNITS[written[2]] if written else 0.0
    if not 0.5 <= inches <= 50:
        raise SettingsError(
            f"{name} must be a length from 0.5 to 50 inches, such as 3.3in, 8.4cm, 84mm or 240pt; got {length!r}"
        )
    return inches


class Line(NamedTuple):
    """How a learner looks: what is written beside its line, colour and dash, and the row of panels it belongs to."""

    name: str
    colour: Any
    dash: str
    group: str


class Picture:
    """A drawing that a notebook shows, and that `save` writes as .pdf, .svg or .png."""

    def __init__(self, drawing: Drawing) -> None:
        self.figure = drawing

    def __repr__(self) -> str:
        width, height = self.figure.get_size_inches()
        return f"Picture({width:.1f} × {height:.1f} inches; save it as .pdf, .svg or .png)"

    def _repr_svg_(self) -> str:
        with calm():
            return svg(self.figure)

    def save(self, path: str | Path) -> Path:
        """Write it, in the format that the name ends in."""
        target = Path(path)
        if target.suffix.removeprefix(".") not in FORMATS:
            raise SettingsError(f"a picture is saved as {', '.join(f'.{one}' for one in FORMATS)}; got {target.name!r}")
        with calm():
            return save(self.figure, target)


def calm(*, in_print: bool = False) -> Any:
    """The style: matplotlib's defaults whatever the reader's own are, and identifiers that do not change."""
    small, usual = (7, 8) if in_print else (9, 10)
    ours = {
        "svg.hashsalt": "rankloop", "svg.fonttype": "path", "pdf.fonttype": 42, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25, "grid.linewidth": 0.6,
        "axes.axisbelow": True, "axes.labelsize": small, "axes.titlesize": usual,
        "xtick.labelsize": small, "ytick.labelsize": small,
    }  # fmt: skip
    return style.context(["default", ours], after_reset=True)


def save(drawing: Drawing, path: Path) -> Path:
    """Write a drawing; the same results give the same bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".svg":
            path.write_text(svg(drawing), encoding="utf-8")
        elif path.suffix == ".pdf":
            drawing.savefig(path, metadata=dict.fromkeys(("Creator", "Producer", "CreationDate")))
        else:
            drawing.savefig(path, dpi=160)
    except OSError as error:
        raise DataError(f"cannot write the figure {path}: {error.strerror or error}") from None
    return path


def svg(drawing: Drawing) -> str:
    """A drawing as SVG, with neither date nor addresses: the same results give the same bytes."""
    text = io.StringIO()
    drawing.savefig(text, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return re.sub(r"<!DOCTYPE[^>]*>\s*", "", text.getvalue())


def panels(rows: int, columns: int, size: Size | None = None, **shared: Any) -> tuple[Drawing, Any]:
    """A drawing with so many panels."""
    if size is None:
        layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
        extent = max(6.4, 5.1 * columns), 0.5 + 2.95 * rows
    else:
        layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03)
        if size.height is not None and size.height < _LOWEST * rows:
            below = f" for {rows} panels, one below the other" if rows > 1 else ""
            raise SettingsError(f"height must be at least {_LOWEST * rows:g}in{below}; got {size.height:g}in")
        extent = size.width, size.height or rows * max(1.7, 0.6 * size.width / columns)
    drawing = Drawing(figsize=extent, layout=layout)
    return drawing, drawing.subplots(rows, columns, squeeze=False, **shared)


def side_by_side(columns: int, size: Size | None) -> bool:
    """Whether so many panels have room beside each other."""
    return size is None or size.width / columns >= _NARROWEST


def share_scale(rows: Sequence[Axes]) -> None:
    """The same heights for panels that stand one below the other, as for those side by side."""
    for axis in rows[1:]:
        axis.sharey(rows[0])


def label_scale(drawing: Drawing, axes: Any, text: str) -> None:
    """What heights are: beside each row of panels or, where rows are too low for that, once beside all of them."""
    font = float(matplotlib.rcParams["axes.labelsize"])
    height = float(drawing.get_size_inches()[1]) - 0.5
    if len(axes) > 1 and len(text) * _LETTER * font / 72 > height / len(axes):
        drawing.supylabel(wrapped(text, height, font), fontsize=font, parse_math=False)
        return
    for row in axes:
        row[0].set_ylabel(wrapped(text, height / len(axes), font), parse_math=False)


def head(drawing: Drawing, title: str, size: Size | None) -> None:
    """A title; in print, the caption has it."""
    if size is None:
        text = wrapped(title, float(drawing.get_size_inches()[0]), 11)
        drawing.suptitle(text, fontsize=11, x=0.01, ha="left", parse_math=False)


def title(axis: Axes, *parts: str) -> None:
    """What a panel shows, on as many lines as it needs."""
    columns = axis.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    room = _extent(axis)[0] / columns - 0.7  # the scale, and names beside lines
    text = ", ".join(part for part in parts if part)
    axis.set_title(wrapped(text, room, float(axis.title.get_fontsize())), parse_math=False)


def wrapped(text: str, inches: float, points: float, lines: int = 3) -> str:
    r"""Text on lines so wide, in type of a size; what does not fit on three of them is cut.

    >>> wrapped("navigational cascade (after-click) clicks", 2.0, 10)
    'navigational cascade\n(after-click) clicks'
    """
    letters = max(8, int(inches * 72 / (_LETTER * points)))
    return textwrap.fill(text, letters, max_lines=lines, placeholder="…")


def impressions_axis(axis: Axes, last: int) -> None:
    """From nothing to so many impressions."""
    axis.set_xlim(0, last)
    axis.xaxis.set_major_locator(MaxNLocator(5 if _extent(axis)[0] > 4 else 4))
    axis.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"{x / 1e6:g} M" if last > 200_000 and x else f"{x:,.0f}")
    )


def draw_line(axis: Axes, at: Any, mean: NDArray[Any], half: NDArray[Any] | None, line: Line) -> tuple[float, Line]:
    """Draw one learner with its band; the height at which its line ends."""
    single = "o" if len(mean) == 1 else None  # a single point draws no line
    width = 1.7 if _extent(axis)[0] > 6 else 1.2
    axis.plot(at, mean, linestyle=line.dash, marker=single, markersize=4, color=line.colour, linewidth=width)
    if half is not None:
        axis.fill_between(at, mean - half, mean + half, color=line.colour, alpha=0.15, linewidth=0)
    return float(mean[-1]) if len(mean) else np.nan, line


def frame(first: Axes, row: Sequence[Axes]) -> None:
    """Frame the lines of a row: with few runs a band may be much wider than all of them, and then runs out."""
    heights = np.array([height for axis in row for line in axis.lines for height in np.asarray(line.get_ydata())])
    low, high = first.get_ylim()
    if len(heights) and np.ptp(heights) > 0:
        room = 0.4 * np.ptp(heights)
        first.set_ylim(max(low, heights.min() - room), min(high, heights.max() + room))


def label_lines(axis: Axes, ends: Sequence[tuple[float, Line]]) -> None:
    """Names at the lines' right ends, pushed apart where they would overlap: no legend to look up."""
    low, high = axis.get_ylim()
    font = float(matplotlib.rcParams["xtick.labelsize"])
    rows = axis.get_subplotspec().get_gridspec().nrows  # type: ignore[union-attr]
    inches = max(0.5, (_extent(axis)[1] - 0.5) / rows - 0.47)
    ordered = sorted((((value - low) / (high - low)), line) for value, line in ends if np.isfinite(value))
    heights = spread([height for height, _ in ordered], min(1.35 * font / 72 / inches, 0.99 / max(1, len(ordered))))
    for (height, line), shown in zip(ordered, heights, strict=True):
        axis.annotate(
            line.name, (1.0, height), (1.06, shown), xycoords="axes fraction", textcoords="axes fraction",
            color=line.colour, fontsize=font, va="center", annotation_clip=False, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": line.colour, "linewidth": 1.1, "linestyle": line.dash,
                        "shrinkA": 1, "shrinkB": 2, "relpos": (0, 0.5)},
        )  # fmt: skip


def _extent(axis: Axes) -> tuple[float, float]:
    """Width and height of the drawing that a panel is part of, in inches."""
    drawing: Any = axis.figure
    width, height = drawing.get_size_inches()
    return float(width), float(height)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move sorted heights apart to at least `gap`, each crowd staying centred where it was.

    >>> [round(height, 2) for height in spread([0.1, 0.5, 0.52], 0.1)]
    [0.1, 0.46, 0.56]
    """
    crowds: list[list[float]] = []
    for height in heights:
        crowds.append([height])
        while len(crowds) > 1 and _bottom(crowds[-1], gap) - _top(crowds[-2], gap) < gap:
            crowds[-2:] = [crowds[-2] + crowds[-1]]
    return [_bottom(crowd, gap) + gap * index for crowd in crowds for index in range(len(crowd))]


def _bottom(crowd: Sequence[float], gap: float) -> float:
    centred = sum(crowd) / len(crowd) - gap * (len(crowd) - 1) / 2
    return max(0.0, min(centred, 1.0 - gap * (len(crowd) - 1)))


def _top(crowd: Sequence[float], gap: float) -> float:
    return _bottom(crowd, gap) + gap * (len(crowd) - 1)


def lines_for(learners: Mapping[str, Mapping[str, Any]]) -> dict[str, Line]:
    """How each learner looks, from its settings by label and from what varies among them.

    Methods have their own colours. Settings of one method: an ordered setting (γ, η) gets ordered colours; naive
    rewards are dashed beside their unbiased twins; where a word and a number vary, the word splits the panels. No two
    lines of a panel look alike: beside other methods, the settings of one differ by their dashes.
    """
    by_label = {label: flat(settings) for label, settings in learners.items()}
    varied = [key for key in varying(by_label.values()) if key != "label"]
    numbers = [key for key in varied if all(is_number(settings.get(key)) for settings in by_label.values())]
    words = [key for key in varied if all(isinstance(settings.get(key), str) for settings in by_label.values())]
    splits = len(numbers) == 1 and len(words) == 1 and len(varied) == 2 and words != ["learner"]
    ordered = sorted({float(settings[numbers[0]]) for settings in by_label.values()}) if len(numbers) == 1 else []
    methods = list(dict.fromkeys(str(settings.get("learner")) for settings in by_label.values()))
    taken = {_METHODS[name] for name in methods if name in _METHODS} if "learner" in varied else {}
    free = [colour for place, colour in enumerate(CYCLE) if place not in taken] or list(CYCLE)
    others = [name for name in methods if name not in _METHODS]
    made: dict[str, Line] = {}
    for index, (label, settings) in enumerate(by_label.items()):
        group = str(settings[words[0]]) if splits else ""
        if ordered and (splits or varied == numbers):
            place = ordered.index(float(settings[numbers[0]]))
            colour, dash = matplotlib.colormaps["viridis"](0.7 * place / max(1, len(ordered) - 1)), "-"
        else:
            learner = str(settings.get("learner"))
            turn = others.index(learner) if "learner" in varied and learner in others else index
            colour, dash = _look(settings, free[turn % len(free)], methods="learner" in varied)
        name = label.removeprefix(f"{group} ") if group else label
        seen = {(line.colour, line.dash) for line in made.values() if line.group == group}
        made[label] = Line(short(name), *_unlike(seen, colour, dash, free), group)
    return made


def _unlike(seen: Collection[tuple[Any, str]], colour: Any, dash: str, free: Sequence[str]) -> tuple[Any, str]:
    """A look that nobody has yet: the same colour in another dash, then other colours."""
    dashes = (dash, *(one for one in DASHES if one != dash))
    looks = ((one, how) for one in (colour, *free, *CYCLE) for how in dashes)
    return next((look for look in looks if look not in seen), (colour, dash))


def _look(settings: dict[str, Any], free: str, *, methods: bool) -> tuple[Any, str]:
    """The colour and the dash of a learner; `free` is a colour that no method of its own has."""
    if methods:
        place = _METHODS.get(settings["learner"])
        return free if place is None else CYCLE[place], "--" if settings["learner"] == "MDPRank" else "-"
    reward = str(settings.get("reward", ""))
    signs = {"+": CYCLE[1], "-": CYCLE[2], "+-": CYCLE[0]}
    for kind, dash in (("naive", "--"), ("ips", "-")):
        if reward.removeprefix(kind) in signs:
            return signs[reward.removeprefix(kind)], dash
    return free, "-"


def short(name: str, longest: int = _LONGEST) -> str:
    """A name that fits beside a line: its beginning and its end, where settings stand.

    >>> short("PDGD with a learning_rate=0.3")
    'PDGD with a l…ing_rate=0.3'
    """
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[: longest - 1 - half]}…{name[len(name) - half :]}"
