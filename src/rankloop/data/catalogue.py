"""The published collections, by id: what they should look like, and where a user gets them.

An import under one of these ids takes its normalisation from here and is compared with what was
published. A missing split is an error; everything else that differs is reported and imported as
it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rankloop.data.layout import Layout
from rankloop.data.store.entries import WHOLE
from rankloop.errors import DataError

_LETOR = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
_MSLR = "https://www.microsoft.com/en-us/research/project/mslr/"
_ISTELLA = "https://istella.ai/datasets/letor-dataset/"
_YAHOO = "https://webscope.sandbox.yahoo.com/ (C14B, Learning to Rank Challenge)"
_QIN_LIU = "Qin and Liu, Introducing LETOR 4.0 Datasets, 2013"
_QIN = "Qin, Liu, Xu and Li, LETOR: A Benchmark Collection for Research on LTR, 2010"
_CHAPELLE = "Chapelle and Chang, Yahoo! Learning to Rank Challenge Overview, 2011"
_DATO = "Dato et al., Fast Ranking with Additive Ensembles of Oblivious Trees, TOIS 2016"
_LUCCHESE = "Lucchese et al., Post-Learning Optimization of Tree Ensembles, SIGIR 2016"
_THREE = ("train", "vali", "test")


@dataclass(frozen=True)
class Published:
    """A published collection.

    `features` lists the counts that are right; `shapes` gives (queries, documents) by split, or
    under "all" for a whole fold.
    """

    id: str
    title: str
    features: tuple[int, ...]
    highest_grade: int
    normalise: bool
    folds: int | None
    splits: tuple[str, ...]
    files: str
    obtain: str
    citation: str
    prefix: str | None = None
    shapes: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def _letor(id: str, title: str, features: int, grades: int, queries: int, documents: int,
           normalise: bool = False, files: str = "Fold1…Fold5/{train,vali,test}.txt",
           obtain: str = _LETOR, citation: str = _QIN_LIU) -> Published:  # fmt: skip
    """A collection of five folds, each of which holds all queries."""
    return Published(
        id=id, title=title, features=(features,), highest_grade=grades, normalise=normalise,
        folds=5, splits=_THREE, files=files, obtain=obtain, citation=citation,
        shapes={"all": (queries, documents)},
    )  # fmt: skip


def _yahoo(number: int, shapes: Mapping[str, tuple[int, int]]) -> Published:
    return Published(
        id=f"yahoo-set{number}", title=f"Yahoo! Learning to Rank Challenge, set {number}",
        features=(699, 700), highest_grade=4, normalise=False, folds=None, splits=_THREE,
        files=f"set{number}.{{train,valid,test}}.txt", prefix=f"set{number}", obtain=_YAHOO,
        citation=_CHAPELLE, shapes=shapes,
    )  # fmt: skip


def _istella(id: str, title: str, splits: tuple[str, ...], citation: str,
             shapes: Mapping[str, tuple[int, int]]) -> Published:  # fmt: skip
    return Published(
        id=id, title=title, features=(220,), highest_grade=4, normalise=True, folds=None,
        splits=splits, files=f"{{{','.join(splits)}}}.txt", obtain=_ISTELLA, citation=citation,
        shapes=shapes,
    )  # fmt: skip


CATALOGUE: dict[str, Published] = {
    published.id: published
    for published in (
        _letor("mslr-web10k", "MSLR-WEB10K", 136, 4, 10_000, 1_200_192, True, obtain=_MSLR),
        _letor("mslr-web30k", "MSLR-WEB30K", 136, 4, 31_531, 3_771_125, True, obtain=_MSLR),
        _yahoo(1, {"train": (19_944, 473_134), "vali": (2_994, 71_083), "test": (6_983, 165_660)}),
        _yahoo(2, {"train": (1_266, 34_815), "vali": (1_266, 34_881), "test": (3_798, 103_174)}),
        _istella("istella", "Istella LETOR", ("train", "test"), _DATO,
                 {"train": (23_219, 7_325_625), "test": (9_799, 3_129_004)}),
        _istella("istella-s", "Istella-S LETOR", _THREE, _LUCCHESE,
                 {"train": (19_245, 2_043_304), "vali": (7_211, 684_076),
                  "test": (6_562, 681_250)}),
        _letor("mq2007", "LETOR 4.0 MQ2007", 46, 2, 1_692, 69_623),
        _letor("mq2008", "LETOR 4.0 MQ2008", 46, 2, 784, 15_211),
        _letor("ohsumed", "LETOR 3.0 OHSUMED", 45, 2, 106, 16_140, citation=_QIN,
               files="QueryLevelNorm/Fold1…Fold5/{trainingset,validationset,testset}.txt"),
    )
}  # fmt: skip


def require_splits(published: Published, layout: Layout) -> None:
    """Refuse a layout in which a split of the published collection is missing."""
    for fold, splits in layout.folds.items():
        for split in published.splits:
            if split not in splits or layout.single:
                place = layout.source if fold == WHOLE else layout.source / fold
                raise DataError(
                    f"{place}: the {split} file of {published.title} is missing. Expected: "
                    f"{published.files}. Import it under another name to use it as it is."
                )


def differences(
    published: Published,
    features: int,
    highest_grade: int,
    shapes: Mapping[str, Mapping[str, tuple[int, int]]],
) -> list[str]:
    """What differs from the published description, a sentence each; shapes by fold and split."""
    differing = []
    if features not in published.features:
        expected = " or ".join(map(str, published.features))
        differing.append(f"{features} features; published: {expected}.")
    if highest_grade != published.highest_grade:
        differing.append(f"grades go up to {highest_grade}; published: {published.highest_grade}.")
    folds = 0 if WHOLE in shapes else len(shapes)
    if folds != (published.folds or 0):
        differing.append(f"{folds or 'no'} folds; published: {published.folds or 'none'}.")
    for fold, splits in shapes.items():
        counted = {**splits, "all": tuple(map(sum, zip(*splits.values(), strict=True)))}
        for part, expected_shape in published.shapes.items():
            for what, got, expected_count in zip(
                ("queries", "documents"), counted.get(part, (0, 0)), expected_shape, strict=True
            ):
                if got != expected_count:
                    where = " ".join(name for name in (fold, part) if name not in (WHOLE, "all"))
                    where = f"{where}: " if where else ""
                    differing.append(f"{where}{got:,} {what}; published: {expected_count:,}.")
    return differing
