"""The verdict on every sentence: the tests of one claim on one collection and user are corrected together, by Holm.

A sentence is supported if all its parts are, contradicted if any part is, and undecided otherwise, in particular when
runs are missing or too few.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from rankloop.statistics import holm
from rankloop.studies.claims.evidence import Finding, MissingError, Part, Scene, find, grid_for
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
        p: Holm-corrected, of the decisive comparison; None if nothing could be tested.
        detail: which test on which runs, or why nothing is decided.
        collection, user: where; empty if the study has no such runs at all.
        parts: every comparison of the sentence in numbers.
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


class _Corrected(NamedTuple):
    """A finding after Holm's correction, among so many tests."""

    finding: Finding
    p_for: float
    p_against: float
    tests: int

    def holds(self, threshold: float) -> bool:
        return self.finding.judgement.supports and self.p_for < threshold

    @property
    def fails(self) -> bool:
        return self.finding.judgement.contradicts and self.p_against < LEVEL


def check(results: Results) -> list[Verdict]:
    """A verdict on every sentence of the paper's claims, for each collection and user that has the runs.

    A sentence for which the study has no runs at all gets one undecided verdict, without collection and user.
    """
    cases = [case for sentence in SENTENCES for case in _cases(sentence, results)]
    families: dict[tuple[str, str, str], dict[tuple[str, Part], Finding]] = defaultdict(dict)
    for case in cases:
        # A comparison that two sentences of a claim share is one test.
        families[case.family] |= {(case.grid, finding.part): finding for finding in case.findings}
    corrected = {family: _correct(findings) for family, findings in families.items()}
    return [
        _verdict(case, [corrected[case.family][case.grid, finding.part] for finding in case.findings]) for case in cases
    ]


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


def _correct(findings: dict[tuple[str, Part], Finding]) -> dict[tuple[str, Part], _Corrected]:
    p_for = holm([finding.judgement.p_for for finding in findings.values()])
    p_against = holm([finding.judgement.p_against for finding in findings.values()])
    corrected = zip(findings.values(), p_for, p_against, strict=True)
    return {key: _Corrected(*values, len(findings)) for key, values in zip(findings, corrected, strict=True)}


def _verdict(case: _Case, parts: list[_Corrected]) -> Verdict:
    decision, decisive, p = _decide(case, parts)
    return Verdict(
        number=case.sentence.number,
        sentence=case.sentence.text,
        verdict=decision,
        effect=_effect(case.sentence, decision, decisive, parts),
        p=p,
        detail=_detail(case, decision, decisive),
        collection=case.collection,
        user=case.user,
        parts=tuple(part.finding.effect for part in parts),
    )


def _decide(case: _Case, parts: list[_Corrected]) -> tuple[Decision, _Corrected | None, float | None]:
    """The decision, the comparison that it rests on, and that one's p."""
    if not parts:
        return "undecided", None, None
    against = [part for part in parts if part.fails]
    if against:
        worst = min(against, key=lambda part: (part.p_against, part.finding.judgement.p_against))
        return "contradicted", worst, worst.p_against
    lacking = [part for part in parts if not part.holds(case.sentence.threshold)]
    weakest = max(lacking or parts, key=lambda part: (part.p_for, part.finding.judgement.p_for))
    return "undecided" if lacking or case.missing else "supported", weakest, weakest.p_for


def _effect(sentence: Sentence, decision: Decision, decisive: _Corrected | None, parts: list[_Corrected]) -> str:
    if decisive is None:
        return ""
    of = len(sentence.parts)
    if of == 1:
        return decisive.finding.effect
    holding = sum(part.holds(sentence.threshold) for part in parts)
    failing = sum(part.fails for part in parts)
    counts = {
        "supported": f"weakest of {of}",
        "contradicted": f"{failing} of {of} contradict, {holding} hold",
        "undecided": f"{holding} of {of} hold",
    }
    return f"{decisive.finding.effect} ({counts[decision]})"


def _detail(case: _Case, decision: Decision, decisive: _Corrected | None) -> str:
    """One sentence: the reason if runs are missing, else which test on which runs, and the correction."""
    if case.missing and decision != "contradicted":
        return f"Undecided because {'; '.join(dict.fromkeys(case.missing))}."
    if decisive is None:
        return "Undecided because nothing could be compared."
    finding = decisive.finding
    relation = finding.part.relation
    name = relation.test_against if decision == "contradicted" else relation.test_for
    test = name.format(margin=f"{finding.margin:.3g}")
    left, right = finding.runs
    runs = f"{left} pairs of runs with shared seeds" if finding.paired else f"{left} and {right} runs"
    kind = "Paired" if finding.paired else "Welch's"
    family = f"; p Holm-corrected over the {decisive.tests} tests of claim {case.sentence.claim}"
    correction = family if decisive.tests > 1 else ""
    return f"{kind} {test} on {finding.part.measure.name}, {runs}, grid {case.grid}{correction}."
