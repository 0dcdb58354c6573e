"""Where the learned order helps and hurts is said beyond chance, with all cells in view, however often one looks."""

import math

import numpy as np
import pytest

from rankloop.live.contrasts import beyond_chance, contrasts, queries_report, segments_report, shrunken
from rankloop.live.evidence import CLIENTS, PARTS, Evidence, Seen
from rankloop.live.guard import GroupComparison

CELLS = 20


def found(difference, error, pages=500.0):
    return GroupComparison(0.5 + difference, 0.5, error**2 / 2, error**2 / 2, pages)


def simulated(rng, rates, people=400, pages=10, control=0.2, visits=2):
    """Cells whose people click at (learned, incoming) rates, somebody more and somebody less, and come again; all
    looks at them as (steps, cells, 2, 3, PARTS)."""
    steps = []
    sums = np.zeros((len(rates), 2, 3, PARTS), np.float32)
    for _ in range(pages):
        for cell, pair in enumerate(rates):
            who = rng.integers(people, size=people // 5).repeat(visits)
            side = (who % 10 < 10 * control).astype(int)
            eager = 0.5 + (who * 7919 % people) / people  # a person's own, on average 1
            value = (rng.random(len(who)) < np.array(pair)[side] * eager).astype(float)
            for moment, amount in enumerate((np.ones(len(who)), value, value * value)):
                np.add.at(sums[cell, :, moment], (side, who // 10 % PARTS), amount)
        steps.append(sums.copy())
    return steps


@pytest.mark.slow
def test_where_nothing_differs_hardly_anything_is_ever_called():
    """With 20 queries and ten looks each, one false word in 20 worlds is what is promised; 60 worlds, at most 7 with
    one: more than that has probability .9 % if the promise is just kept."""
    wrong = 0
    for seed in range(60):
        looks = simulated(np.random.default_rng(seed), [(0.3, 0.3)] * CELLS)
        wrong += any(one.verdict for look in looks for one in contrasts(list(look)))
    assert wrong <= 7


def test_where_it_helps_and_hurts_is_found():
    rates = [(0.45, 0.2), (0.2, 0.45), *[(0.3, 0.3)] * (CELLS - 2)]
    last = simulated(np.random.default_rng(5), rates, pages=30)[-1]
    told = contrasts(list(last))
    assert [one.verdict for one in told[:2]] == ["helps", "hurts"]
    assert not any(one.verdict for one in told[2:])
    assert all(one.low < one.difference < one.high for one in told)
    assert told[0].low > 0 > told[1].high
    # Drawn towards what the others show, and not beyond it.
    assert 0 < told[0].shrunk < told[0].difference
    assert told[1].difference < told[1].shrunk < 0


def test_with_many_cells_in_view_one_needs_more_to_be_called():
    alone = found(0.1, 0.1 / math.sqrt(2 * 6))
    assert 0.99 > alone.sure > 0.95
    assert beyond_chance([alone]) == ["helps"]
    assert beyond_chance([alone, *[found(0.0, 0.1)] * 19]) == [None] * 20
    assert beyond_chance([found(-0.5, 0.05), *[found(0.0, 0.1)] * 19])[0] == "hurts"
    assert beyond_chance([]) == []


def test_differences_are_drawn_together_as_far_as_chance_explains_them():
    """The empirical Bayes estimate, literally: DerSimonian and Laird's variance, then posterior means."""
    d, v = np.array([0.2, -0.1, 0.05, 0.4]), np.array([0.01, 0.02, 0.005, 0.03])
    w = 1 / v
    fixed = (w * d).sum() / w.sum()
    q = (w * (d - fixed) ** 2).sum()
    tau = max(0.0, (q - 3) / (w.sum() - (w**2).sum() / w.sum()))
    mean = (d / (v + tau)).sum() / (1 / (v + tau)).sum()
    literal = [(di / vi + mean / tau) / (1 / vi + 1 / tau) for di, vi in zip(d, v, strict=True)]
    given = [found(di, math.sqrt(vi)) for di, vi in zip(d.tolist(), v.tolist(), strict=True)]
    assert tau > 0
    assert shrunken(given) == pytest.approx(literal, abs=1e-9)
    assert shrunken([found(0.3, 0.1)]) == pytest.approx([0.3])
    assert shrunken([]) == []


def test_shrinking_is_nearer_to_the_truth():
    rng = np.random.default_rng(2)
    truth = rng.normal(0.05, 0.05, 200)
    seen = truth + rng.normal(0, 0.1, 200)
    drawn = np.array(shrunken([found(d, 0.1) for d in seen.tolist()]))
    assert ((drawn - truth) ** 2).mean() < 0.5 * ((seen - truth) ** 2).mean()


def test_with_few_pages_or_people_nothing_is_said():
    few = np.zeros((2, 3, PARTS), np.float32)
    few[:, 0] = 3.0
    assert contrasts([few])[0].difference is None  # 48 pages each
    one = np.zeros((2, 3, PARTS), np.float32)
    one[:, 0, :3] = 100.0
    assert contrasts([one])[0].sure is None  # of too few people
    [none] = contrasts([np.zeros((2, 3, PARTS), np.float32)])
    assert (none.learned.pages, none.learned.per_page) == (0, None)


def noted(names=("desk", "lamp"), people=40):
    evidence = Evidence(7)
    for who in range(1, people):
        for place, name in enumerate(names):
            for side in (0, 1):
                client = who.to_bytes(8, "little")
                better = side == 0 if place == 0 else side == 1
                value = float(better or who % 7 == 0)
                for _ in range(3):
                    evidence.note(Seen(name, f"{name} people", client, side, 1, 2, who), value)
    return evidence


def test_reports_say_it_in_numbers_and_words():
    report = queries_report(noted(), 1)
    assert [row.query for row in report.queries] == ["desk"]
    assert report.queries[0].contrast.verdict == "helps"
    assert (report.queries[0].pages, report.queries[0].error, report.clients) == (39 * 6, 0, CLIENTS)
    assert report.verdict == (
        "Of 2 queries with enough pages, the learned order helps on 1 (desk) and hurts on 1 (lamp), beyond chance."
    )
    segments = segments_report(noted())
    assert [row.segment for row in segments.segments] == ["desk people", "lamp people"]
    assert segments.other is None
    assert "hurts on 1 (lamp people)" in segments.verdict


def test_what_few_asked_is_not_shown():
    few = noted(people=CLIENTS)
    report = queries_report(few, 50)
    assert (report.queries, report.unnamed) == ([], 2)
    assert report.verdict == "No query has enough pages of both orders yet."
    segments = segments_report(few)
    assert segments.segments == []
    assert segments.other.pages == few.pages


def test_without_a_control_group_nobody_is_told_to_wait():
    few = noted(people=CLIENTS)
    told = "can be compared: the model has no control group, so nobody sees the engine's order."
    assert queries_report(few, 50, controlled=False).verdict == f"No query {told}"
    assert segments_report(few, controlled=False).verdict == f"No segment {told}"


def test_a_model_without_evidence_says_so():
    assert "made without evidence" in queries_report(None, 5).verdict
    assert "made without evidence" in segments_report(None).verdict


def test_chance_is_called_chance():
    last = simulated(np.random.default_rng(9), [(0.3, 0.3)] * 3, pages=5)[-1]
    evidence = noted()
    evidence.queries.sums[:2] = last[:2]
    assert queries_report(evidence, 5).verdict == "Of 2 queries with enough pages, none can be told from chance."


def pages_until_called(seed, control, rates, step=1_000, most=80_000):
    """Pages of one query among 50 until it is called, with a look after each 1,000: people who come once."""
    rng = np.random.default_rng(seed)
    sums = np.zeros((50, 2, 3, PARTS), np.float32)
    for pages in range(step, most, step):
        for cell in range(len(sums)):
            for side, share in enumerate((1 - control, control)):
                parts = rng.multinomial(round(step * share), [1 / PARTS] * PARTS)
                clicks = rng.binomial(parts, rates[side] if cell == 0 else 0.3)
                sums[cell, side] += parts, clicks, clicks
        if contrasts(list(sums))[0].verdict == "helps":
            return pages
    return most


@pytest.mark.long
@pytest.mark.parametrize(
    ("control", "learned", "pages"),
    [(0.05, 0.45, 7_000), (0.05, 0.36, 32_000), (0.2, 0.45, 2_000), (0.2, 0.36, 10_000)],
)
def test_it_takes_the_pages_that_the_documentation_says(control, learned, pages):
    medians = np.median([pages_until_called(seed, control, (learned, 0.3)) for seed in range(7)])
    assert 0.5 * pages <= medians <= 2 * pages
