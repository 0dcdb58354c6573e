"""`kill −9` at random moments under traffic: nothing that was acknowledged is lost, and the model has the same bits."""

import random
import time

import pytest

from ..serving import Serving
from .evidence import examine
from .traffic import Traffic, last_visit, make_model

HUNDRED = pytest.param(100, marks=pytest.mark.crash)


def kill_at_random_moments(service, traffic, kills, rng):
    """Each life ends a random while after it began to answer; every fifth already ends while it starts."""
    for life in range(kills):
        if life % 5 == 4:
            service.start(wait=False)
            time.sleep(rng.uniform(0.0, 1.5))  # anywhere in its start, on a machine that is as fast as it may be
            service.kill()
            service.start()
            continue
        traffic.wait_for(acknowledged=rng.randrange(1, 80))
        time.sleep(rng.uniform(0.0, 0.01))  # not only at the moment of an answer
        service.kill()
        if life % 5 != 3:
            service.start()


@pytest.mark.slow
@pytest.mark.parametrize("kills", [5, HUNDRED])
def test_what_was_acknowledged_survives_kills_and_the_weights_are_the_same_bits(
    address, tmp_path, kills, record_property
):
    with Serving(tmp_path, address=address) as service:
        make_model(service.url)
        with Traffic([service.url], seed=kills) as traffic:
            kill_at_random_moments(service, traffic, kills, random.Random(kills))
            traffic.wait_for(acknowledged=40)
        weights = last_visit(service.url)
    evidence = examine(address, traffic.visits, weights)
    record_property("evidence", str(evidence))
    assert evidence.version > kills
    assert traffic.unanswered > 0
    assert "Traceback" not in service.output
