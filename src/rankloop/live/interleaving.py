"""Interleaving: one page for several orders, by team draft, and whose documents were clicked.

The arms take turns, in an order drawn anew for each round, and each places its best document that is not on the page
yet. A click on a document is credit for the arm that placed it. Documents on which all arms agree from the top down
(the same first, the same second, …) are everybody's: clicks on them say nothing, and are left out.

If clicks do not depend on who placed a document, every arm expects the same credit: who begins is a fair draw. On one
page all orders meet the same person, query and moment, which is why far fewer pages are needed than with two groups of
people.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels.draws import INTERLEAVING, stream_key
from rankloop.learners.multileaving import team_draft

EVERYBODYS = -1
"""The team of a document that all arms would show at its rank, or that was pinned to it."""

Order = NDArray[np.int64]


class Draft(NamedTuple):
    """A page, and the arm that placed each of its documents."""

    page: Order
    teams: list[int]


def drafted(orders: Sequence[Order], candidates: int, seed: int, number: int, pinned: Mapping[int, int]) -> Draft:
    """One page of several; `pinned`, candidate → rank, has the same place in all of them.

    >>> first, second = np.array([0, 1, 2]), np.array([0, 3, 1])
    >>> drafted([first, second], candidates=4, seed=1, number=5, pinned={})
    Draft(page=array([0, 1, 3]), teams=[-1, 0, 1])
    """
    fixed = list(pinned)
    free = [order[~np.isin(order, fixed)] for order in orders]
    page, teams = _drafted(free, candidates, seed, number)
    shown = orders[0].copy()
    whose = np.full(len(shown), EVERYBODYS)
    ranks = np.setdiff1d(np.arange(len(shown)), list(pinned.values()))
    shown[ranks], whose[ranks] = page, teams
    return Draft(shown, whose.tolist())


def _drafted(orders: Sequence[Order], candidates: int, seed: int, number: int) -> tuple[Order, NDArray[np.int64]]:
    keys = np.full((len(orders), candidates), -1, np.int64)
    for arm, order in enumerate(orders):
        keys[arm, order] = np.arange(len(order), 0, -1)
    page = np.zeros(len(orders[0]), np.int64)
    placed = np.zeros((len(page), len(orders)), np.float32)
    team_draft(keys, np.uint64(seed), number, page, placed)
    teams = placed.argmax(axis=1)
    alike = np.all(np.stack(orders) == orders[0], axis=0) if len(page) else np.zeros(0, bool)
    teams[: len(page) if alike.all() else int(alike.argmin())] = EVERYBODYS
    return page, teams


def draft_seed(seed: int, experiment: int) -> int:
    """What an experiment's drafts are drawn with: not what a method draws its own pages with, nor another one's."""
    return int(stream_key(np.uint64(seed), INTERLEAVING, experiment))


def credit(teams: Sequence[int], clicks: Sequence[float], arms: int) -> list[float]:
    """What was clicked of each arm's documents.

    >>> credit([-1, 1, 0], [1.0, 1.0, 0.0], arms=2)
    [0.0, 1.0]
    """
    earned = [0.0] * arms
    for team, value in zip(teams, clicks, strict=True):
        if team != EVERYBODYS:
            earned[team] += value
    return earned
