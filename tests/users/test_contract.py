"""The verbs of the loop: what has no compiled implementation is refused by name, not run as something else."""

from typing import NamedTuple

import pytest

from rankloop.learners.contract import learn, show
from rankloop.rankers.contract import ascend, score, score_several
from rankloop.users.contract import click


class Nobody(NamedTuple):
    value: float = 0.0


@pytest.mark.parametrize("verb", [click, show, learn, score, score_several, ascend], ids=lambda verb: verb.__name__)
def test_a_verb_without_an_implementation_says_for_what(verb):
    arguments = [Nobody()] + [None] * (verb.__code__.co_argcount - 1)
    with pytest.raises(TypeError, match=f"no compiled {verb.__name__} is registered for Nobody"):
        verb(*arguments)
