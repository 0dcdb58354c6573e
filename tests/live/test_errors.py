"""Errors of the live service: whose fault they are, and what machines and people are given."""

import pytest

from rankloop.errors import RankloopError
from rankloop.live.errors import RequestError


def test_a_store_error_is_an_error_of_rankloop_and_no_fault_of_the_input(store):
    with pytest.raises(RankloopError) as failed:
        store.reserve(404, 1)
    assert not isinstance(failed.value, ValueError)


def test_a_refused_request_has_a_code_for_machines_and_a_sentence_for_people():
    error = RequestError("name_taken", "a model 'shop' already exists")
    assert (error.code, str(error)) == ("name_taken", "a model 'shop' already exists")
    assert isinstance(error, RankloopError)
