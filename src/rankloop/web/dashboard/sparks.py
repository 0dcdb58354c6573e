"""A small line for a card: drawn on the server, as SVG, with a gap where nothing was shown."""

from collections.abc import Sequence

WIDTH, HEIGHT, EDGE = 100.0, 28.0, 2.0


def lines(
    series: Sequence[Sequence[float | None]], *, least: float | None = 0.0
) -> tuple[list[list[str]], list[list[tuple[float, float]]]]:
    """Each series on one scale: its polylines, as SVG's `points`, and the values that stand alone, as places of dots.

    >>> lines([[1.0, 3.0, None, 2.0]])
    ([['0.0,18.0 33.3,2.0']], [[(100.0, 10.0)]])
    """
    known = [value for values in series for value in values if value is not None]
    if not known:
        return [[] for _ in series], [[] for _ in series]
    low = min(known) if least is None else min(least, min(known))
    high = max(known)
    steps = max(len(values) for values in series) - 1

    def place(at: int, value: float) -> tuple[float, float]:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(WIDTH * at / steps if steps else WIDTH / 2, 1), round(
            HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE), 1
        )

    drawn: list[list[str]] = []
    dots: list[list[tuple[float, float]]] = []
    for values in series:
        runs: list[list[tuple[float, float]]] = [[]]
        for at, value in enumerate(values):
            if value is None:
                runs.append([])
            else:
                runs[-1].append(place(at, value))
        drawn.append([" ".join(f"{x},{y}" for x, y in run) for run in runs if len(run) > 1])
        dots.append([run[0] for run in runs if len(run) == 1])
    # Dots say where a line has gaps: without any line they say nothing.
    return drawn, dots if any(drawn) else [[] for _ in series]
