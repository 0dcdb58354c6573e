"""`Posterior` as its page in the documentation has it: full matrices, inverses, no tricks."""

import numpy as np

from rankloop.kernels.draws import mix
from rankloop.learners.common_factor import ENOUGH
from rankloop.learners.prior import GIVEN, LEVEL, LEVEL_VARIANCE, is_due


class Watched:
    """Documents whose features are compared from page to page, in 32 places; squares of how far u moved, and why."""

    def __init__(self):
        self.places, self.by_features, self.by_weights = {}, [], []

    @property
    def changing(self):
        """λ; means over all comparisons, of which those before the last 256 fade."""
        count = len(self.by_features)
        fading = np.array([np.prod(1 - 1 / np.clip(np.arange(i + 2, count + 1), 1, 256)) for i in range(count)])
        weight = fading / np.clip(np.arange(1, count + 1), 1, 256)
        features, weights = (weight @ squares if count else 0.0 for squares in (self.by_features, self.by_weights))
        return features / (features + weights) if features else 0.0

    def meet(self, number, x, w):
        """A document is shown with the features x, beside the candidates' mean, to a ranker with the weights w."""
        place = (int(mix(np.uint64(number % 2**64))) >> 32) % 32
        holder, met, passing, before, said = self.places.get(place, (None, 0, 0, None, None))
        if holder == number:
            self.by_features.append((w @ (x - before)) ** 2)
            self.by_weights.append((w @ before - said) ** 2)
            is_doubled = np.log2(met + 1) % 1 == 0
            self.places[place] = (number, met + 1, passing + 8, *((x, w @ x) if is_doubled else (before, said)))
        elif passing == 0:
            self.places[place] = (number, 1, 8, x, w @ x)
        else:
            self.places[place] = (holder, met, passing - 1, before, said)


class Dense:
    """The same posterior with a full matrix, its inverse, and every formula as it is written down."""

    def __init__(self, learner, features, page, weights=None):
        self.learner, self.features, self.page, self.weights = learner, features, page, weights
        self.seen, self.first = [], np.r_[LEVEL, np.log(learner.examination.at(self.page))[1:], np.zeros(self.features)]
        self.mean = self.first
        self.taught, self.toward = np.zeros((len(self.mean),) * 2), np.zeros(len(self.mean))
        self.V = learner.prior_variance
        self.brought, self.direction, self.common = [], None, None
        """C b of each page but the first; b, of length 1; and λ."""
        self.records: dict = {}
        """By document: h, b and a."""
        self.watched = Watched()
        self.tau, self.squares, self.known = learner.merit_variance, 0.0, 0.0

    def prior(self):
        """Mean and precision now, in the features' own units."""
        within = np.mean([X.astype(float).var(axis=0) for X in self.seen], axis=0)
        examination = [self.learner.examination_variance] * (self.page - 1)
        mean, covariance = self.first, np.diag(np.r_[LEVEL_VARIANCE, examination, self.V / self.features / within])
        if self.weights is not None:
            spread = np.sqrt(np.mean([(X.astype(float) @ self.weights).var() for X in self.seen]))
            u = np.r_[np.zeros(self.page), self.weights / spread]
            mean, covariance = mean + GIVEN * u, covariance + np.outer(u, u) / self.learner.start_pages
        if self.brought:
            v = np.mean(self.brought, axis=0)
            self.direction, self.common = v / np.linalg.norm(v), np.linalg.norm(v)
            share = max(1 - 1 / self.common, 0.0) / self.common
            b = np.r_[np.zeros(self.page), self.direction / np.sqrt(within)]
            covariance = covariance + self.learner.common_variance * share * np.outer(b, b)
            if self.weights is None:
                agreement = self.direction.sum() / np.sqrt(np.count_nonzero(v))
                mean = mean + self.learner.common_weight * agreement * np.sqrt(share) * b
        return mean, np.linalg.inv(covariance), np.sqrt(within)

    def look_for_what_is_common(self, X):
        """One power iteration with this page's covariance, in the units that all pages so far know."""
        looked_for = self.learner.common_weight != 0 or self.learner.common_variance > 0
        if looked_for and 1 < len(self.seen) <= ENOUGH:
            units = np.sqrt(np.mean([one.astype(float).var(axis=0) for one in self.seen], axis=0))
            Z = (X - X.mean(axis=0)) / units
            C = Z.T @ Z / len(Z)
            first = Z[0] / np.linalg.norm(Z[0])
            self.brought.append(C @ (first if self.direction is None else self.direction))

    def weigh(self):
        """MacKay's update, with weights in units of the spreads that the last renewal knew."""
        P = np.linalg.inv(self.information)[self.page :, self.page :] * np.outer(self.spread, self.spread)
        m = (self.mean - self.prior_mean)[self.page :] * self.spread
        out = gone = np.zeros((self.features, self.features))
        if self.weights is not None:
            u = self.weights * self.spread / np.linalg.norm(self.weights * self.spread)
            out = gone = np.outer(u, u)
        if self.direction is not None:
            b = self.direction - out @ self.direction
            own = self.learner.common_variance * max(1 - 1 / self.common, 0.0) / self.common
            taken = own / (own + self.V / self.features)
            out, gone = out + taken * np.outer(b, b), out + taken * (2 - taken) * np.outer(b, b)
        free, trace, squares = self.features - np.trace(out), np.trace(P - P @ gone), m @ m - m @ gone @ m
        determined = max(free - trace * self.features / self.V, 0.0)
        weight = self.learner.prior_weight
        self.V = (
            self.features * (weight * self.learner.prior_variance / self.features + squares) / (weight + determined)
        )

    def let_level_drift(self):
        """One step of a random walk between two pages; the mean stays."""
        covariance = np.linalg.inv(self.information)
        covariance[0, 0] += self.learner.level_drift**2
        self.information = np.linalg.inv(covariance)
        self.taught = self.information - self.precision
        self.toward = self.information @ self.mean - self.precision @ self.prior_mean

    def believed(self, name, u, changing=None):
        """E[η] of a document whose features say u: N(u, τ²) and observations, moved by what features say now."""
        h, b, a = self.records.get(name, (0.0, 0.0, 0.0))
        changing = self.watched.changing if changing is None else changing
        return (u / self.tau + b + changing * (h * u - a)) / (1 / self.tau + h)

    def remember(self, names, z, u, g, information):
        """One more observation of each shown document, which is then met; then τ² by the evidence."""
        changing = self.watched.changing
        for name, x, own, slope, bend in zip(names, z, u, g, information, strict=True):
            h, b, a = self.records.get(name, (0.0, 0.0, 0.0))
            self.records[name] = h + bend, b + slope + bend * self.believed(name, own, changing), a + bend * own
            self.squares += (self.believed(name, own, changing) - own) ** 2
            self.known += self.tau * (h + bend) / (1 + self.tau * (h + bend))
            guess, weight = self.learner.merit_variance, self.learner.merit_weight
            self.tau = (weight * guess + self.squares) / (weight + self.known)
            self.watched.meet(name, x, self.mean[self.page :])

    def learn(self, X, documents, clicks, names=None):
        self.seen.append(X)
        self.look_for_what_is_common(X.astype(float))
        if is_due(len(self.seen)):
            if len(self.seen) > 1:
                self.weigh()
            self.prior_mean, self.precision, self.spread = self.prior()
            self.information = self.precision + self.taught
            self.mean = np.linalg.solve(self.information, self.precision @ self.prior_mean + self.toward)
        self.let_level_drift()
        C, a = clicks.sum(), self.learner.level_shape
        ranks = np.eye(self.page)[: len(documents), 1:]
        z = np.c_[np.ones(len(documents)), ranks, X[documents] - X.astype(float).mean(axis=0)]
        u = z[:, self.page :] @ self.mean[self.page :]
        merits = np.zeros(len(u))
        if names is not None:
            merits = [self.believed(name, own) - own for name, own in zip(names, u, strict=True)]
        mu = np.exp(z @ self.mean + merits).sum()
        shares = np.exp(z @ self.mean + merits) / mu
        g = (clicks - C * shares) @ z + (C - mu) * a / (a + mu) * (shares @ z)
        H = C * (z - shares @ z).T @ np.diag(shares) @ (z - shares @ z)
        H += a * mu / (a + mu) * np.outer(shares @ z, shares @ z)
        self.taught += H
        self.toward += H @ self.mean + g
        self.information = self.information + H
        self.mean = self.mean + np.linalg.solve(self.information, g)
        if names is not None:
            slopes = clicks - C * shares + (C - mu) * a / (a + mu) * shares
            bends = C * shares * (1 - shares) + a * mu / (a + mu) * shares**2
            self.remember(names, z[:, self.page :], u, slopes, bends)
