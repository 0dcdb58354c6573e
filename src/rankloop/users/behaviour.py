"""What people do on a page, as tables, and the one kernel that clicks for all kinds of them.

Going down the page, somebody who is still looking

    clicks at rank k         with probability  look[k, last] · (plus[k] γ + minus[k] (1 − γ)),
    goes on after a click    with probability  after_click[grade] + tilt · γ,
    goes on after a skip     with probability  after_skip[grade],

where γ is the attraction of the document and `last` tells where they clicked last (0: nowhere yet, j: at rank j).
Whoever does not go on clicks no more. Each kind of the literature is a choice of these tables; what is 1 or 0 in them
costs nothing. So the loop is compiled once for all kinds, and a mixture is several tables, of which each impression
draws one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.draws import PATIENCE, PEOPLE, USER, stream_key, uniform
from rankloop.metrics import MAX_GRADE

_GRADES = MAX_GRADE + 1
_ROUNDING = 1e-9


class Behaviour(NamedTuple):
    """The tables of one person. `attraction` has a value for each grade or, `by_row`, for each document of a split."""

    attraction: NDArray[np.float64]
    by_row: bool
    look: NDArray[np.float64]
    plus: NDArray[np.float64]
    minus: NDArray[np.float64]
    after_click: NDArray[np.float64]
    after_skip: NDArray[np.float64]
    tilt: float

    @classmethod
    def of(
        cls,
        ranks: int,
        attraction: ArrayLike,
        *,
        by_row: bool = False,
        look: ArrayLike = 1.0,
        plus: ArrayLike = 1.0,
        minus: ArrayLike = 0.0,
        after_click: ArrayLike = 1.0,
        after_skip: ArrayLike = 1.0,
        tilt: float = 0.0,
    ) -> "Behaviour":
        """Tables for pages of so many ranks; what is not given lets everybody look, and nobody stop.

        `look` may be one value per rank, or (ranks, ranks + 1) by rank and last click; `plus` and `minus` one value, or
        one per rank; what follows a click or a skip, the probability of going on, one value, or one per grade from 0,
        the last of which holds for all higher ones. All are probabilities, and so is `after_click` + `tilt` · γ.
        """
        by_rank = _probabilities("look", look)
        made = cls(
            attraction=np.atleast_1d(_probabilities("attraction", attraction)),
            by_row=by_row,
            look=_shaped("look", by_rank[:, None] if by_rank.ndim == 1 else by_rank, (ranks, ranks + 1)),
            plus=_shaped("plus", _probabilities("plus", plus), (ranks,)),
            minus=_shaped("minus", _probabilities("minus", minus), (ranks,)),
            after_click=_by_grade("after_click", after_click),
            after_skip=_by_grade("after_skip", after_skip),
            tilt=float(tilt),
        )
        made._require_possible_tilt()
        return made

    def _require_possible_tilt(self) -> None:
        if self.tilt == 0.0:
            return
        extremes = np.array([self.attraction.min(initial=1.0), self.attraction.max(initial=0.0)])
        going = self.after_click[:, None] + self.tilt * extremes
        if not ((going >= -_ROUNDING) & (going <= 1.0 + _ROUNDING)).all():
            raise SettingsError(
                f"Behaviour: after_click + tilt · attraction must be a probability in [0, 1]; it goes from "
                f"{going.min():g} to {going.max():g}"
            )

    def require_fit(self, owner: str, highest: int, rows: int) -> None:
        """Refuse a split with grades or documents that the attraction has no value for."""
        count = len(self.attraction)
        if self.by_row and count != rows:
            raise SettingsError(
                f"{owner}: attraction by row needs a value for each of the {rows:,} documents; has {count:,}"
            )
        if not self.by_row and count <= highest:
            raise _too_few(owner, count, highest)


def _probabilities(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SettingsError(f"Behaviour: {name} must hold probabilities in [0, 1]; got {values!r:.100}") from None
    wrong = given[~((given >= 0.0) & (given <= 1.0))]
    if wrong.size or (given.size == 0 and name != "look"):  # an empty page has nothing to look at
        got = f"{wrong.flat[0]:g}" if wrong.size else "none"
        raise SettingsError(f"Behaviour: {name} must hold probabilities in [0, 1]; got {got}")
    return given


def _shaped(name: str, given: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """One value for all ranks, or one for each."""
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        more = f", or a table of {shape[0]} × {shape[1]}" if len(shape) == 2 else ""
        raise SettingsError(
            f"Behaviour: {name} must be one value, or one for each of {shape[0]} ranks{more}; got shape {given.shape}"
        ) from None


def _by_grade(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """One value for each grade that there could be; who may see which grades is checked elsewhere."""
    given = np.atleast_1d(_probabilities(name, values))
    if given.ndim > 1 or len(given) > _GRADES:
        raise SettingsError(
            f"Behaviour: {name} must be one value, or one per grade, {_GRADES} at most; got shape {given.shape}"
        )
    return np.concatenate([given, np.full(_GRADES - len(given), given[-1])])


def _too_few(owner: str, count: int, highest: int) -> SettingsError:
    return SettingsError(
        f"{owner}: attraction has {count} values, for grades 0 to {count - 1}, but there is a grade {highest}; "
        f"give one for each grade"
    )


class People(NamedTuple):
    """The tables of everybody who may come, for compiled code; the first dimension is the person.

    All attractions stand in one list, each person's from `begin`. (knots,) impressions, (knots, people) shares.
    """

    attraction: NDArray[np.float64]
    begin: NDArray[np.int64]
    by_row: NDArray[np.bool_]
    stops: NDArray[np.bool_]
    look: NDArray[np.float64]
    plus: NDArray[np.float64]
    minus: NDArray[np.float64]
    after_click: NDArray[np.float64]
    after_skip: NDArray[np.float64]
    tilt: NDArray[np.float64]
    knots: NDArray[np.int64]
    shares: NDArray[np.float64]


def together(people: Sequence[Behaviour], knots: NDArray[np.int64], shares: NDArray[np.float64]) -> People:
    """Several people as one compiled user."""
    sizes = [len(one.attraction) for one in people]
    return People(
        attraction=np.concatenate([one.attraction for one in people]),
        begin=np.cumsum([0, *sizes[:-1]], dtype=np.int64),
        by_row=np.array([one.by_row for one in people]),
        stops=np.array([_may_stop(one) for one in people]),
        look=np.stack([one.look for one in people]),
        plus=np.stack([one.plus for one in people]),
        minus=np.stack([one.minus for one in people]),
        after_click=np.stack([one.after_click for one in people]),
        after_skip=np.stack([one.after_skip for one in people]),
        tilt=np.array([one.tilt for one in people]),
        knots=np.ascontiguousarray(knots),
        shares=np.ascontiguousarray(shares),
    )


def require_grades(people: People, owner: str, highest: int) -> None:
    """Refuse a grade that somebody's attraction has no value for: compiled code would read what lies beyond it."""
    counts = np.diff([*people.begin, len(people.attraction)])[~people.by_row]
    if len(counts) and counts.min() <= highest:
        raise _too_few(owner, int(counts.min()), highest)


def _may_stop(person: Behaviour) -> bool:
    return bool(person.tilt) or bool((person.after_click != 1.0).any() or (person.after_skip != 1.0).any())


@kernel
def click_people(people, shown, seed, impression, clicks):
    """Draw who comes; then go down the page: one draw per rank for the click, one for going on."""
    who = who_comes(people, seed, impression)
    begin, by_row, stops = people.begin[who], people.by_row[who], people.stops[who]
    key = stream_key(seed, USER, impression)
    patience = stream_key(seed, PATIENCE, impression) if stops else key
    looking, last = True, 0
    for k in range(shown.grades.size):
        clicks[k] = 0.0
        if looking:
            grade = shown.grades[k]
            place = shown.first + shown.documents[k] if by_row else grade
            gamma = people.attraction[begin + place]
            seen = people.plus[who, k] * gamma + people.minus[who, k] * (1.0 - gamma)
            goes_on = people.after_skip[who, grade]
            if uniform(key, k) < seen * people.look[who, k, last]:
                clicks[k] = 1.0
                last = k + 1
                goes_on = people.after_click[who, grade] + people.tilt[who] * gamma
            if stops:
                looking = uniform(patience, k) < goes_on


@kernel
def who_comes(people, seed, impression):
    """The person of an impression: one draw, by the shares that people have by then."""
    if people.begin.size == 1:
        return 0
    before = 0
    while before + 1 < people.knots.size and people.knots[before + 1] <= impression:
        before += 1
    after = min(before + 1, people.knots.size - 1)
    blend = 0.0
    if after > before and impression > people.knots[before]:
        blend = (impression - people.knots[before]) / (people.knots[after] - people.knots[before])
    draw = uniform(stream_key(seed, PEOPLE, impression), 0)
    below, who = 0.0, 0
    for one in range(people.begin.size):
        share = (1.0 - blend) * people.shares[before, one] + blend * people.shares[after, one]
        if share > 0.0 and draw >= below:
            who = one
        below += share
    return who


def shares_at(impression: int, knots: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """(people,), the share that each has at an impression."""
    return np.array([np.interp(impression, knots, column) for column in shares.T])


def forward(
    person: Behaviour, grades: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(click) and P(examined) for each rank of a page, by going forward over (still looking, last click)."""
    ranks = len(grades)
    clicked, examined = np.zeros(ranks), np.zeros(ranks)
    looking = np.zeros(ranks + 1)  # P(still looking, last click there)
    looking[0] = 1.0
    for k, grade in enumerate(grades):
        gamma = person.attraction[rows[k] if person.by_row else grade]
        looks = looking * person.look[k]
        clicks = looks * (person.plus[k] * gamma + person.minus[k] * (1.0 - gamma))
        examined[k], clicked[k] = looks.sum(), clicks.sum()
        looking = (looking - clicks) * person.after_skip[grade]
        looking[k + 1] += clicked[k] * (person.after_click[grade] + person.tilt * gamma)
    return clicked, examined
