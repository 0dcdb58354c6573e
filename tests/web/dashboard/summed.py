"""Pages added up, as the log does it."""

import numpy as np

from rankloop.web.dashboard.intervals import Sums


def sums_of(values):
    return Sums(len(values), float(np.sum(values)), float(np.square(values).sum()))
