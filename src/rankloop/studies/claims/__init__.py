"""The paper's claims, sentence by sentence, against the runs of a study: supported, contradicted or undecided.

`sentences` is the table of what the paper says; `relations` turns two groups of runs into p-values for and against a
sentence; `evidence` finds the runs; `verdicts` corrects for many tests and decides. docs/claims.md states every rule.
"""

from rankloop.studies.claims.sentences import SENTENCES
from rankloop.studies.claims.verdicts import Verdict, check

__all__ = ["SENTENCES", "Verdict", "check"]
