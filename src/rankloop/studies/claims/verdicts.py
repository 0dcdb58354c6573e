"""The verdict on every sentence.

All parts of a sentence must hold, so it is an intersection–union test: it is as sure as its weakest part, and its parts
need no correction. One part that fails is enough against it, so there the smallest p of k parts counts k times. The
sentences of one claim on one collection and user are then corrected together, by Holm. A sentence is undecided if it is
neither supported nor contradicted, in particular when runs are missing or too few.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from rankloop.statistics import holm
from rankloop.studies.claims.evidence import Finding, MissingError, Scene, find, grid_for
from rankloop.studies.claims.sentences import SENTENCES, Sentence
from rankloop.studies.records import Results

LEVEL = 0.05

Decision = Literal["supported", "contradicted", "undecided"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs say about one sentence of the paper on one collection under one user.

    Attributes:
        number: the claim and the sentence in it, "1a".
        sentence: the paper's sentence.
        verdict: "supported", "contradicted" or "undecided".
        effect: the decisive comparison in numbers; empty if there is none.
        p: of the sentence, Holm-corrected over those of its claim, two-tailed; None if nothing could be tested.
        detail: which test on which runs, or why nothing is decided.
        collection, user: where; empty if the study has no such runs at all.
        parts: every comparison of the sentence in numbers.
        bound: of an undecided sentence, how large the effect that was not found can be; empty if runs are missing.
    """

    number: str
    sentence: str
    verdict: Decision
    effect: str
    p: float | None
    detail: str
    collection: str
    user: str
    parts: tuple[str, ...] = ()
    bound: str = ""


class _Case(NamedTuple):
    """A sentence on one collection under one user: what was found, and why other parts could not be judged."""

    sentence: Sentence
    collection: str
    user: str
    grid: str
    findings: list[Finding]
    missing: list[str]

    @property
    def family(self) -> tuple[str, str, str]:
        return self.sentence.claim, self.collection, self.user


class _Tested(NamedTuple):
    """A sentence's p for and against it, Holm-corrected over so many sentences each."""

    case: _Case
    p_for: float
    p_against: float
    tests_for: int
    tests_against: int

    @property
    def is_supported(self) -> bool:
        return self.p_for < self.case.sentence.threshold

    @property
    def is_contradicted(self) -> bool:
        return self.p_against < LEVEL


def check(results: Results) -> list[Verdict]:
    """A verdict on every sentence of the paper's claims, for each collection and user that has the runs.

    A sentence for which the study has no runs at all gets one undecided verdict, without collection and user.
    """
    cases = [case for sentence in SENTENCES for case in _cases(sentence, results)]
    families: dict[tuple[str, str, str], list[_Case]] = defaultdict(list)
    for case in cases:
        families[case.family].append(case)
    tested = {id(one.case): one for family in families.values() for one in _corrected(family)}
    return [_verdict(tested[id(case)]) for case in cases]


def _cases(sentence: Sentence, results: Results) -> Iterator[_Case]:
    grids = {
        collection: grid_for(results, collection, sentence.parts)
        for collection in results.axis("collection")
        if sentence.only is None or sentence.only in results.axis("stands_for", collection=collection)
    }
    if not any(grids.values()):
        needed = sorted(set().union(*(part.roles for part in sentence.parts)))
        where = f" on {sentence.only}" if sentence.only else ""
        yield _Case(sentence, "", "", "", [], [f"no grid of the study{where} compares {', '.join(needed)}"])
    for collection, grid in grids.items():
        for user in sentence.users if grid else ():
            yield _case(sentence, Scene(results, str(grid), collection, user))


def _case(sentence: Sentence, scene: Scene) -> _Case:
    case = _Case(sentence, scene.collection, scene.user, scene.grid, [], [])
    for part in sentence.parts:
        try:
            case.findings.append(find(scene, part))
        except MissingError as reason:
            case.missing.append(str(reason))
    return case


def _corrected(family: list[_Case]) -> list[_Tested]:
    """The sentences of a family; for and against are two families of tests."""
    p_for, p_against = holm([_p_for(case) for case in family]), holm([_p_against(case) for case in family])
    tests = [sum(not math.isnan(p) for p in some) for some in (p_for, p_against)]
    return [_Tested(*one, *tests) for one in zip(family, p_for, p_against, strict=True)]


def _p_for(case: _Case) -> float:
    """Every part must hold: the largest p of all. A part that could not be judged leaves nothing to support."""
    if case.missing or not case.findings:
        return math.nan
    return max(finding.judgement.p_for for finding in case.findings)


def _p_against(case: _Case) -> float:
    """One part that fails is enough: the smallest p, as often as there were parts to find it among."""
    return min((len(case.findings) * finding.judgement.p_against for finding in case.findings), default=math.nan)


def _verdict(tested: _Tested) -> Verdict:
    case = tested.case
    decision, decisive, p = _decide(tested)
    return Verdict(
        number=case.sentence.number,
        sentence=case.sentence.text,
        verdict=decision,
        effect=_effect(case, decision, decisive),
        p=p,
        detail=_detail(tested, decision, decisive),
        collection=case.collection,
        user=case.user,
        parts=tuple(finding.effect for finding in case.findings),
        bound=_bound(case) if decision == "undecided" else "",
    )


def _bound(case: _Case) -> str:
    """How large an effect can be that was not found: the largest of those parts that neither hold nor fail.

    If all parts hold and only the correction leaves the sentence open, it is open for its weakest part.
    """
    if case.missing or not case.findings:
        return ""
    threshold = case.sentence.threshold
    open_parts = [one for one in case.findings if one.judgement.p_for >= threshold] or [_weakest(case.findings)]
    largest = max(open_parts, key=lambda finding: finding.bound)
    sign = "/" if largest.part.relation.is_ratio else "−"
    which = f"{largest.part.left} {sign} {largest.part.right} is " if len(case.findings) > 1 else ""
    return f"{which}{largest.bound_text} (95 %)"


def _weakest(findings: list[Finding]) -> Finding:
    return max(findings, key=lambda finding: finding.judgement.p_for)


def _decide(tested: _Tested) -> tuple[Decision, Finding | None, float | None]:
    """The decision, the comparison that it rests on, and the sentence's p."""
    findings = tested.case.findings
    if not findings:
        return "undecided", None, None
    weakest = _weakest(findings)
    if tested.is_contradicted:
        strongest = min(findings, key=lambda finding: finding.judgement.p_against)
        return "contradicted", strongest, tested.p_against
    if tested.case.missing:
        return "undecided", weakest, None
    return "supported" if tested.is_supported else "undecided", weakest, tested.p_for


def _effect(case: _Case, decision: Decision, decisive: Finding | None) -> str:
    if decisive is None:
        return ""
    of = len(case.sentence.parts)
    if of == 1:
        return decisive.effect
    holding = sum(finding.judgement.p_for < case.sentence.threshold for finding in case.findings)
    failing = sum(finding.judgement.p_against < LEVEL for finding in case.findings)
    counts = {
        "supported": f"weakest of {of}",
        "contradicted": f"{failing} of {of} contradict, {holding} hold",
        "undecided": f"{holding} of {of} hold",
    }
    return f"{decisive.effect} ({counts[decision]})"


def _detail(tested: _Tested, decision: Decision, decisive: Finding | None) -> str:
    """One sentence: the reason if runs are missing, else which test on which runs, and the correction."""
    case = tested.case
    if case.missing and decision != "contradicted":
        return f"Undecided because {'; '.join(dict.fromkeys(case.missing))}."
    if decisive is None:
        return "Undecided because nothing could be compared."
    relation = decisive.part.relation
    name = relation.test_against if decision == "contradicted" else relation.test_for
    test = name.format(margin=f"{decisive.margin:.3g}")
    left, right = decisive.runs
    runs = f"{left} pairs of runs with shared seeds" if decisive.paired else f"{left} and {right} runs"
    folds = f" on {decisive.folds} folds" if decisive.folds > 1 else ""
    kind = "Paired" if decisive.paired else "Welch's"
    of = len(case.findings)
    parts = {
        "contradicted": f"; {of} times the smallest p of its {of} parts",
        "supported": "; the largest p of its parts",
    }
    many = parts.get(decision, parts["supported"]) if of > 1 else ""
    tests = tested.tests_against if decision == "contradicted" else tested.tests_for
    correction = f"; Holm-corrected over the {tests} sentences of claim {case.sentence.claim}" if tests > 1 else ""
    return f"{kind} {test} on {decisive.part.measure.name}, {runs}{folds}, grid {case.grid}{many}{correction}."
