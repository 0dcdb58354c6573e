"""Settings by grid search on the validation split: search, study file, command."""

from rankloop.studies.tuning.search import Candidate, Objective, TuningResult, tune
from rankloop.studies.tuning.space import LEARNING_RATES, parse_search, search_space
from rankloop.studies.tuning.study import as_study

__all__ = [
    "LEARNING_RATES",
    "Candidate",
    "Objective",
    "TuningResult",
    "as_study",
    "parse_search",
    "search_space",
    "tune",
]
