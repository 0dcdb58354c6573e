"""PairRank: online learning to rank by pairwise logistic regression, exploring where an order is uncertain (Jia, Wang,
Guo and Wang, 2021).

Every clicked document i is preferred to every unclicked document j among the ranks 1 … last click + 1, and the pair is
an observation x = x_i − x_j. With N pairs so far,

    θ minimises  (1/N) Σ log(1 + e^{−θ·x}) + λ‖θ‖²,      A = λI + Σ xxᵀ,

and i is surely better than j if σ(θ·x) − α‖x‖_{A⁻¹} > ½. A page is shown in blocks (`block_order`): in the order of
what is sure, and in uniform order where nothing is.

The authors fit θ to all history after every page. Here each page is taken in by one Newton step: a pair's loss is
expanded to second order once, at the θ of its page, so that all history is a matrix B and a vector b, and

    (B + 2λN) θ = b + 2λN θ₀

is solved from where θ is, by conjugate gradients from the residual that is kept. With a mean loss the regulariser's
weight grows with the number of pairs; that keeps |θ·x| small, the expansions exact enough (the tests hold the refit
against it), and the system well conditioned: a product or two is all it takes.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import exp
from rankloop.kernels.matrix import padded
from rankloop.learners.block_order import show_in_blocks
from rankloop.learners.contract import Cost, Learner, Weighing, Work, compiled_settings, learn, show
from rankloop.learners.pdgd import has_preference, last_click
from rankloop.rankers.linear import LINEAR, LinearWeights
from rankloop.settings import number

MOST_FEATURES = 2_000
_NO_PIVOT = 1e-9
_SOLVED = 1e-5
"""Relative to the right-hand side: far below what is known of it."""
_MOST_STEPS = 100


class PairRank(Learner, frozen=True):
    """Pairwise logistic regression that explores where an order is uncertain.

    Attributes:
        regularisation: λ, of the mean loss, and of A before the first pair.
        exploration: α, how many widths ‖x‖_{A⁻¹} a preference must be away from ½ to be sure.

    >>> PairRank(exploration=0.05)
    PairRank(exploration=0.05)
    """

    off_policy: ClassVar[bool] = True
    draws_weights: ClassVar[bool] = True
    weighing: ClassVar[Weighing] = "draw"
    graded: ClassVar[bool] = False
    cost: ClassVar[Cost] = Cost(60, 150)

    regularisation: Annotated[float, number(above=0, usable=(1e-9, 1e9))] = 0.1
    exploration: Annotated[float, number(at_least=0, usable=(0.0, 1e6))] = 0.1

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "PairRankModel":
        """The model before the first impression; given weights are what the regulariser pulls towards."""
        ranker = LINEAR.parameters("zeros", features, seed, weights)
        inverse = np.eye(features) / self.regularisation
        rounded = np.zeros((features, padded(features)), np.float32)
        rounded[:, :features] = inverse
        return PairRankModel(
            ranker=ranker,
            start=ranker.weights.copy(),
            inverse=inverse,
            rounded_inverse=rounded,
            information=np.zeros((features, features)),
            target=np.zeros(features),
            residual=np.zeros(features),
            pairs=np.zeros(1),
            settings=PairRankSettings._of(self),
        )

    def work(self, features: int, page_size: int, candidates: int) -> "PairRankWork":
        """Scratch for queries of up to so many candidates."""
        return PairRankWork.of(features, page_size, candidates)

    @property
    def policy_temperature(self) -> float:
        """Uniform inside blocks is softmax(s) of the scores that are kept with the page."""
        return 1.0

    @property
    def remedy(self) -> str:
        """What holds weights together."""
        return "raise the regularisation or scale the features"

    def require_affordable(self, features: int, page_size: int) -> None:
        """Two numbers for each pair of features are kept, and read at every page."""
        super().require_affordable(features, page_size)
        if features > MOST_FEATURES:
            raise SettingsError(
                f"{self.name}: {features:,} features are too many; it keeps numbers for each pair of them, so there "
                f"may be {MOST_FEATURES:,}"
            )


PairRankSettings = compiled_settings(PairRank)


class PairRankModel(NamedTuple):
    """θ; A⁻¹, and the same in single precision; B, b, what is left to solve of them, and N."""

    ranker: LinearWeights
    start: NDArray[np.float64]
    inverse: NDArray[np.float64]
    rounded_inverse: NDArray[np.float32]
    information: NDArray[np.float64]
    target: NDArray[np.float64]
    residual: NDArray[np.float64]
    pairs: NDArray[np.float64]
    settings: Any


class PairRankWork(NamedTuple):
    """The common scratch; what blocks are found with; the page's documents, Laplacians and contrasts; vectors."""

    base: Work
    order: NDArray[np.int64]
    difference: NDArray[np.float32]
    product: NDArray[np.float32]
    centred: NDArray[np.float32]
    products: NDArray[np.float32]
    own: NDArray[np.float64]
    tail: NDArray[np.float64]
    level: NDArray[np.float32]
    rows: NDArray[np.float64]
    plain: NDArray[np.float64]
    weighted: NDArray[np.float64]
    contrasts: NDArray[np.float64]
    spread: NDArray[np.float64]
    gram: NDArray[np.float64]
    vectors: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int) -> "PairRankWork":
        """Scratch for so many features, ranks and candidates."""
        return cls(
            base=Work.of(features, page_size, candidates),
            order=np.zeros(candidates, np.int64),
            difference=np.zeros((1, features), np.float32),
            product=np.zeros((1, padded(features)), np.float32),
            centred=np.zeros((candidates, features), np.float32),
            products=np.zeros((candidates, padded(features)), np.float32),
            own=np.zeros(candidates),
            tail=np.zeros(candidates),
            level=np.zeros(candidates, np.float32),
            rows=np.zeros((page_size, features)),
            plain=np.zeros((page_size, page_size)),
            weighted=np.zeros((page_size, page_size)),
            contrasts=np.zeros((page_size, features)),
            spread=np.zeros((page_size, features)),
            gram=np.zeros((page_size, page_size)),
            vectors=np.zeros((2, features)),
        )


@implements(show, PairRankModel)
@kernel
def show_pairrank(model, work, X, seed, impression, page, notes):
    """Block by block, in uniform order inside each."""
    show_in_blocks(work, model.rounded_inverse, X, model.settings.exploration, seed, impression, page)


@implements(learn, PairRankModel)
@kernel
def learn_pairrank(model, work, X, seed, impression, page, notes, clicks, measure):
    """Take the page's pairs into A⁻¹, B and b, and solve for θ; a page without any changes nothing."""
    seen = min(last_click(clicks) + 2, page.size)
    if seen < 2 or not has_preference(clicks, seen):
        return np.nan
    rows, features = work.rows[:seen], model.target.size
    for t in range(seen):
        for j in range(features):
            rows[t, j] = X[page[t], j]
    pairs = observe_pairs(model, rows, clicks, work.plain, work.weighted)
    count = contrasts(work.plain, rows, work.contrasts)
    deflate(model.inverse, work.contrasts, count, work.spread, work.gram)
    count = contrasts(work.weighted, rows, work.contrasts)
    add_outer(model.information, work.contrasts, count, 1.0)
    model.pairs[0] += pairs
    leave(model, work.contrasts, count, 2.0 * model.settings.regularisation * pairs)
    solve(model, 2.0 * model.settings.regularisation * model.pairs[0], work.vectors)
    for j in range(features):
        model.ranker.rounded[j] = np.float32(model.ranker.weights[j])
        for m in range(features):
            model.rounded_inverse[j, m] = np.float32(model.inverse[j, m])
    return np.nan


@kernel
def observe_pairs(model, rows, clicks, plain, weighted):
    """Add the pairs' expansions to b, and fill their Laplacians, with weights 1 and σ(1 − σ); how many there are.

    The loss of a pair near z₀ = θ·x is −(1 − σ₀)(z − z₀) + ½ w₀(z − z₀)², so it adds (w₀z₀ + 1 − σ₀) x to b.
    """
    seen, features = rows.shape
    plain[:] = 0.0
    weighted[:] = 0.0
    pairs = 0.0
    for i in range(seen):
        for j in range(seen):
            if clicks[i] >= 0.5 and clicks[j] < 0.5:
                z = 0.0
                for f in range(features):
                    z += (rows[i, f] - rows[j, f]) * model.ranker.weights[f]
                e = exp(-abs(z))
                rest = e / (1.0 + e) if z >= 0.0 else 1.0 / (1.0 + e)
                weight = e / ((1.0 + e) * (1.0 + e))
                link(plain, i, j, 1.0)
                link(weighted, i, j, weight)
                pull = weight * z + rest
                for f in range(features):
                    moved = pull * (rows[i, f] - rows[j, f])
                    model.target[f] += moved
                    model.residual[f] += moved
                pairs += 1.0
    return pairs


@kernel
def link(laplacian, i, j, weight):
    """An edge: Σ weight (x_i − x_j)(x_i − x_j)ᵀ is Xᵀ L X."""
    laplacian[i, i] += weight
    laplacian[j, j] += weight
    laplacian[i, j] -= weight
    laplacian[j, i] -= weight


@kernel
def contrasts(laplacian, rows, out):
    """Rows C with CᵀC = Xᵀ L X, one fewer than there are documents: a Cholesky factor of L times X. L is used up."""
    seen, features = rows.shape
    count = 0
    for k in range(seen):
        pivot = laplacian[k, k]
        if pivot <= _NO_PIVOT:
            continue
        root = math.sqrt(pivot)
        out[count] = 0.0
        for t in range(k, seen):
            factor = laplacian[k, t] / root
            if factor != 0.0:
                for f in range(features):
                    out[count, f] += factor * rows[t, f]
        for i in range(k + 1, seen):
            factor = laplacian[k, i] / pivot
            for j in range(i, seen):
                laplacian[i, j] -= factor * laplacian[k, j]
        count += 1
    return count


@kernel
def deflate(inverse, rows, count, spread, gram):
    """A⁻¹ after A ← A + CᵀC: P − PCᵀ(I + CPCᵀ)⁻¹CP, the rank-one updates of all pairs of a page at once."""
    features = inverse.shape[0]
    spread[:count] = 0.0
    for j in range(features):
        for r in range(count):
            c = rows[r, j]
            if c != 0.0:
                for m in range(features):
                    spread[r, m] += c * inverse[j, m]
    for r in range(count):
        for s in range(r + 1):
            total = 1.0 if r == s else 0.0
            for m in range(features):
                total += spread[r, m] * rows[s, m]
            gram[r, s] = total
    for r in range(count):  # Cholesky, and the same steps on the rows: spread ← L⁻¹ spread
        for s in range(r):
            for t in range(s):
                gram[r, s] -= gram[r, t] * gram[s, t]
            gram[r, s] /= gram[s, s]
            gram[r, r] -= gram[r, s] * gram[r, s]
            for m in range(features):
                spread[r, m] -= gram[r, s] * spread[s, m]
        gram[r, r] = math.sqrt(gram[r, r])
        for m in range(features):
            spread[r, m] /= gram[r, r]
    add_outer(inverse, spread, count, -1.0)


@kernel
def add_outer(matrix, rows, count, sign):
    """M ← M ± Σ_r a_r a_rᵀ over the first `count` rows, three at a time."""
    features = matrix.shape[0]
    whole = count - count % 3
    for j in range(features):
        line = matrix[j]
        for r in range(0, whole, 3):
            a, b, c = sign * rows[r, j], sign * rows[r + 1, j], sign * rows[r + 2, j]
            if a != 0.0 or b != 0.0 or c != 0.0:
                for m in range(features):
                    line[m] += (a * rows[r, m] + b * rows[r + 1, m]) + c * rows[r + 2, m]
        for r in range(whole, count):
            a = sign * rows[r, j]
            if a != 0.0:
                for m in range(features):
                    line[m] += a * rows[r, m]


@kernel
def leave(model, rows, count, ridge):
    """What the page's information CᵀC and its share of the regulariser take from the residual at the present θ."""
    theta = model.ranker.weights
    for r in range(count):
        value = 0.0
        for j in range(theta.size):
            value += rows[r, j] * theta[j]
        for j in range(theta.size):
            model.residual[j] -= value * rows[r, j]
    for j in range(theta.size):
        model.residual[j] -= ridge * (theta[j] - model.start[j])


@kernel
def solve(model, ridge, vectors):
    """θ of (B + ridge) θ = b + ridge θ₀, by conjugate gradients from the present θ and its residual."""
    theta, residual, direction, image = model.ranker.weights, model.residual, vectors[0], vectors[1]
    wanted, left = 0.0, 0.0
    for j in range(theta.size):
        right = model.target[j] + ridge * model.start[j]
        direction[j] = residual[j]
        wanted += right * right
        left += residual[j] * residual[j]
    for _ in range(_MOST_STEPS):
        if left <= _SOLVED * _SOLVED * wanted:
            break
        times(model.information, direction, ridge, image)
        curvature = 0.0
        for j in range(theta.size):
            curvature += direction[j] * image[j]
        step, before = left / curvature, left
        left = 0.0
        for j in range(theta.size):
            theta[j] += step * direction[j]
            residual[j] -= step * image[j]
            left += residual[j] * residual[j]
        for j in range(theta.size):
            direction[j] = residual[j] + left / before * direction[j]


@kernel
def times(matrix, vector, ridge, out):
    """(M + ridge) v, for a symmetric M."""
    for m in range(vector.size):
        out[m] = ridge * vector[m]
    for j in range(vector.size):
        factor = vector[j]
        if factor != 0.0:
            for m in range(vector.size):
                out[m] += factor * matrix[j, m]
