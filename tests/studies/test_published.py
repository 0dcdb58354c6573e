"""The paper's Table 2 as it was copied: complete, and its marks agree with its numbers."""

from rankloop.data.catalogue import CATALOGUE
from rankloop.learners import LEARNERS
from rankloop.studies.published import METHODS, TABLE_2


def test_every_method_has_a_number_for_every_collection_and_user():
    users, methods, collections = (set(axis) for axis in zip(*TABLE_2, strict=True))
    assert users == {"perfect", "noisy"}
    assert methods == set(METHODS) <= set(LEARNERS)
    assert collections == {"mslr-web10k", "yahoo-set1", "istella"} <= set(CATALOGUE)
    assert len(TABLE_2) == 2 * 5 * 3


def test_only_roltr_has_marks_and_only_where_it_is_above_pdgd():
    for (user, method, collection), (value, mark) in TABLE_2.items():
        assert mark in ("", "△", "▲")
        assert mark == "" or (method == "ROLTR" and value > TABLE_2[user, "PDGD", collection][0])


def test_coltr_is_worst_online_and_noise_costs_everybody():
    for (user, _, collection), (value, _) in TABLE_2.items():
        assert TABLE_2[user, "COLTR", collection][0] <= value
    for (user, method, collection), (value, _) in TABLE_2.items():
        assert user == "perfect" or value < TABLE_2["perfect", method, collection][0]
