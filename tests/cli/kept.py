"""A results folder, with results that were made up."""

import msgspec

from rankloop.studies.records import write_summary
from rankloop.studies.specification import Study

from ..studies.conftest import make

STUDY = """
name = "mine"
impressions = 2000
repeats = {repeats}
evaluate_every = 500
users = ["noisy"]
collections = ["tiny"]
grids = [{{ name = "g", learners = [{learners}] }}]
"""


def results_folder(folder, *learners, repeats=2):
    """A folder with results of a small study, as if it had been run."""
    listed = ", ".join(f'{{ learner = "{name}" }}' for name in learners)
    text = STUDY.format(repeats=repeats, learners=listed)
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(text)
    write_summary(folder, make(msgspec.toml.decode(text, type=Study)))
    return folder
