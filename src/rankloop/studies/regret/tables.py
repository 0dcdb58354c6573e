"""What was found out about regret, as tables and sentences."""

from collections.abc import Sequence

from rankloop.display import MISSING, counted, listed, signed
from rankloop.studies.regret.findings import End, Findings, Row
from rankloop.studies.tables import Column, Entry, Table, plain

BAR, GOAL = 0.7, 0.5
"""What a learner that is told nothing should reach in every cell, better still in every cell, and on average."""
WORST = 3
AN_END = 1_000
"""After fewer impressions learners have only begun, whatever a test says."""
FEW_SEEDS = 5
"""A verdict over fewer says how many they are, wherever it stands: nobody should take it for more."""


def tables_for(found: Findings) -> list[Table]:
    """Averages first, then cell by cell, ends, skylines, and how settings were chosen."""
    made = [averages_table(found), ratios_table(found)]
    made += [ends_table(found, at) for at in ends_at(found)]
    made.append(skylines_table(found))
    if found.tried:
        made.append(settings_table(found))
    return [table for table in made if table.rows]


def text_of(ratio: float | None, low: float | None, high: float | None) -> str:
    """`.48 (.45 to .52)`.

    >>> text_of(0.481, 0.45, 0.519), text_of(1.25, None, None), text_of(None, None, None)
    ('.48 (.45 to .52)', '1.25', '–')
    """
    if ratio is None:
        return MISSING
    text = _short(ratio)
    return text if low is None or high is None else f"{text} ({_short(low)} to {_short(high)})"


def _short(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1).replace("-", "−")


def others(found: Findings) -> list[str]:
    """The learners that are compared with the reference."""
    return [learner for learner in found.learners if learner != found.against]


def _cell(row: Row) -> str:
    return f"{row.user} on {row.collection}"


def worst(rows: Sequence[Row], how_many: int = WORST) -> list[Row]:
    """The cells with the highest ratios."""
    known = [row for row in rows if row.ratio is not None]
    return sorted(known, key=lambda row: -(row.ratio or 0.0))[:how_many]


def sentences(found: Findings) -> list[str]:
    """One per learner: the mean, the bars, and where it is worst."""
    means = {one.learner: one for one in found.averages}
    made = []
    for learner in others(found):
        known = [row for row in found.of(learner) if row.ratio is not None]
        if not known:
            continue
        mean = means[learner]
        low, high = (sum((row.ratio or 0) <= bar for row in known) for bar in (GOAL, BAR))
        ends = [end for row in found.of(learner) for end in row.ends]
        absent = [place for place in dict.fromkeys(one for one, _ in found.cells)
                  if not any(row.collection == place for row in found.of(learner))]  # fmt: skip
        missing = f" Not run on {listed(absent)}." if absent else ""
        held = "".join(f" {_tally(ends, at)}" for at in sorted({end.impressions for end in ends}))
        made.append(
            f"{learner}: {text_of(mean.ratio, mean.low, mean.high)} of {found.against}’s regret on average over "
            f"{counted(len(known), 'cell')}; at most {_short(GOAL)} in {low} and at most {_short(BAR)} in {high} of "
            f"them; worst: {listed([f'{_cell(row)} {_short(row.ratio or 0)}' for row in worst(known)])}.{held}{missing}"
        )
    silent = [f"{user} on {collection}" for collection, user in found.cells if _is_silent(found, collection, user)]
    if silent:
        made.append(f"{found.against}’s regret is below 1 % of S, so there is no ratio, with {listed(silent)}.")
    return [*made, *found.left_out]


def _is_silent(found: Findings, collection: str, user: str) -> bool:
    return any(row.near_zero and (row.collection, row.user) == (collection, user) for row in found.rows)


def _tally(ends: Sequence[End], impressions: int) -> str:
    there = [end for end in ends if end.impressions == impressions]
    here = [end.verdict for end in there]
    words = (("holds", "hold"), ("unresolved", "unresolved"), ("fails", "fail"))
    tally = ", ".join(f"{here.count(one)} {word}" for one, word in words)
    return f"Ends after {impressions:,} impressions{_few_seeds(min(there, key=lambda end: end.seeds))}: {tally}."


def _few_seeds(end: End) -> str:
    return f" ({counted(end.seeds, 'seed')})" if 0 < end.seeds < FEW_SEEDS else ""


def _s(found: Findings) -> str:
    """S of every collection, for a note: other fits move it, and ratios with it."""
    by: dict[str, list[float]] = {}
    for one in found.skylines:
        by.setdefault(one.collection, []).append(one.online)
    means = [f"{plain(name)} {sum(values) / len(values):.1f}" for name, values in by.items()]
    return f"S, what the skyline would have shown: {', '.join(means)}."


def _note(found: Findings) -> str:
    return (
        f"Regret: S − Σ 0.9995^i nDCG of the pages shown, over {found.impressions:,} impressions; ratio: mean regret "
        f"over {found.against}’s mean regret on the same {found.shared_seeds}, {with_intervals(found)}."
    )


def with_intervals(found: Findings) -> str:
    """Whether ratios have intervals: over few seeds, Fieller's is unbounded."""
    rows = [row for row in found.rows if row.learner != found.against and row.ratio is not None]
    bounded = [row.low is not None and row.high is not None for row in rows]
    if all(bounded):
        return "with Fieller’s 95 % interval"
    if any(bounded):
        return "with Fieller’s 95 % interval where it is bounded"
    return "without intervals, because Fieller’s are unbounded over so few seeds"


def averages_table(found: Findings) -> Table:
    """A row for each learner: mean ratio, how many cells keep the bars, and the worst."""
    rows = []
    for one in found.averages:
        known = [row for row in found.of(one.learner) if row.ratio is not None]
        if one.learner == found.against or not known:
            continue
        bad = worst(known, 1)[0]
        rows.append(
            (
                Entry(plain(one.learner)), Entry(text_of(one.ratio, one.low, one.high)),
                *(Entry(f"{sum((row.ratio or 0) <= bar for row in known)} of {len(known)}") for bar in (GOAL, BAR)),
                Entry(f"{text_of(bad.ratio, bad.low, bad.high)} {plain(_cell(bad))}"),
            )
        )  # fmt: skip
    headings = ("mean ratio", f"at most {_short(GOAL)}", f"at most {_short(BAR)}")
    columns = (Column("learner", "name"), *map(Column, headings), Column("worst cell", "name"))
    notes = (_note(found), "The mean’s interval leaves out one seed at a time.", _s(found))
    return Table("regret-averages", "Regret beside the reference’s, over all cells", columns, tuple(rows), 0, notes)


def ratios_table(found: Findings) -> Table:
    """Rows are cells, columns are learners; the lowest ratio of a row is bold if its interval ends below the others."""
    learners = others(found)
    columns = [Column(name, "name") for name in ("collection", "people")]
    columns += [Column(f"{found.against}’s regret"), *map(Column, learners)]
    rows = []
    for collection, user in found.cells:
        here = {row.learner: row for row in found.rows if (row.collection, row.user) == (collection, user)}
        best = _best([row for learner, row in here.items() if learner in learners])
        reference = here.get(found.against)
        row = [Entry(plain(collection)), Entry(plain(user)), Entry(f"{reference.regret:.1f}" if reference else MISSING)]
        for learner in learners:
            one = here.get(learner)
            text = MISSING if one is None else text_of(one.ratio, one.low, one.high)
            row.append(Entry(text, learner == best))
        rows.append(tuple(row))
    notes = (_note(found), _s(found))
    bold = "its interval ends below every other ratio"
    return Table("regret-ratios", "Regret, cell by cell", tuple(columns), tuple(rows), 1, notes, bold)


def _best(rows: Sequence[Row]) -> str:
    known = [row for row in rows if row.ratio is not None]
    if len(known) < 2:
        return ""
    first = min(known, key=lambda row: row.ratio or 0.0)
    clear = first.high is not None and all(first.high < (row.ratio or 0.0) for row in known if row is not first)
    return first.learner if clear else ""


def ends_at(found: Findings) -> list[int]:
    """After how many impressions ends were compared."""
    return sorted({end.impressions for row in found.rows for end in row.ends})


def ends_table(found: Findings, impressions: int) -> Table:
    """Rows are cells, columns are learners: the difference of offline nDCG, and the verdict."""
    ends = {
        (row.collection, row.user, row.learner): end for row in found.rows for end in row.ends
        if end.impressions == impressions
    }  # fmt: skip
    learners = [learner for learner in others(found) if any(place[2] == learner for place in ends)]
    rows = []
    for collection, user in found.cells:
        here = [ends.get((collection, user, learner)) for learner in learners]
        if not any(here):
            continue
        reference = next(end.reference for end in here if end)
        tones = _TONES if impressions >= AN_END else {}
        entries = [Entry(_end_text(end), tone=tones.get(end.verdict, "") if end else "") for end in here]
        rows.append((Entry(plain(collection)), Entry(plain(user)), Entry(f"{reference:.4f}"), *entries))
    columns = [Column(name, "name") for name in ("collection", "people")]
    columns += [Column(f"{found.against}, offline"), *map(Column, learners)]
    early = (f"After so few impressions nothing has ended: verdicts count from {AN_END:,} on.",)
    notes = (
        *(early if impressions < AN_END else ()),
        f"Offline nDCG after {impressions:,} impressions less {found.against}’s, with its 90 % interval over seeds and "
        f"queries. Holds: lower by no more than {found.margin:g} (one-sided paired test at 5 %); fails: lower by more; "
        f"unresolved: too few queries or seeds to say.",
        _s(found),
    )
    return Table(
        f"regret-ends-{impressions}",
        f"The end, after {impressions:,} impressions",
        tuple(columns),
        tuple(rows),
        1,
        notes,
    )


_TONES = {"holds": "supported", "fails": "contradicted", "unresolved": "undecided"}


def _end_text(end: End | None) -> str:
    if end is None:
        return MISSING
    text = signed(end.ndcg - end.reference, 3)
    if end.low is not None and end.high is not None:
        text += f" ({signed(end.low, 3)} to {signed(end.high, 3)})"
    return f"{text} {end.verdict}{_few_seeds(end)}"


def skylines_table(found: Findings) -> Table:
    """S for every collection and fold."""
    columns = (Column("collection", "name"), Column("fold"), Column("train nDCG"), Column("S"), Column("gradient norm"))
    rows = [
        (
            Entry(plain(one.collection)), Entry(str(one.fold or MISSING)), Entry(f"{one.ndcg:.4f}"),
            Entry(f"{one.online:.1f}"), Entry(f"{one.gradient:.1e}"),
        )
        for one in found.skylines
    ]  # fmt: skip
    note = (
        "The linear ranker that minimises the mean cross entropy of 2^grade − 1 on the training queries, plus "
        "1e-4 ‖w‖²; a query with nothing relevant counts 0."
    )
    return Table("regret-skylines", "Skylines", columns, tuple(rows), 1, (note,))


def settings_table(found: Findings) -> Table:
    """Every setting that was tried, its mean ratio on each collection, and where it was used."""
    collections = list(dict.fromkeys(collection for collection, _ in found.cells))
    used = {(one.learner, one.collection): one for one in found.choices}
    rows = []
    for one in found.tried:
        entries = []
        for collection in collections:
            here = used.get((one.learner, collection))
            mine = here is not None and here.setting == one.setting
            entries.append(Entry(text_of(one.ratios.get(collection), None, None), mine))
        rows.append((Entry(plain(one.learner)), Entry(plain(one.described)), *entries))
    notes = ["Mean ratio over the people of a collection."]
    if any(one.by_others for one in found.choices):
        notes.append("Each collection is met with the setting that is best on average over all others.")
    if any(not one.by_others for one in found.choices):
        notes.append("Where no other collection was run, the first setting is used.")
    columns = (Column("learner", "name"), Column("setting", "words"), *map(Column, collections))
    bold = "the setting used on this collection, chosen without it"
    return Table("regret-settings", "Settings tried, and chosen", columns, tuple(rows), 1, tuple(notes), bold)
