"""A query's document has one number, on every machine and whenever it comes back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data.naming import document_numbers, plain


def test_numbers_are_those_that_kept_states_know():
    """They are part of the stored format: another hash would forget what models know."""
    assert document_numbers("oak desk", ["a", "b", ""]).tolist() == [
        -5902542499248016380,
        -5136347500787709142,
        4552241475535078381,
    ]


def test_how_a_query_was_typed_does_not_matter_but_which_it_is_does():
    same = [document_numbers(query, ["a"])[0] for query in ("oak desk", " Oak  DESK ", "OAK\tdesk")]
    assert len(set(same)) == 1
    # What ends the query and begins the id is told apart.
    assert document_numbers("oak", ["desk"])[0] != document_numbers("oakdesk", [""])[0]
    assert plain("  Straße ") == plain("STRASSE")


@pytest.mark.parametrize("query", ["", "  "])
def test_documents_of_searches_for_who_knows_what_have_no_number(query):
    """Under one name for all searches, features were soon overruled by what people made of a document elsewhere: on 200
    queries of the same 30 documents, with features of their own, pages were worth .40 of the best instead of .999."""
    assert document_numbers(query, ["a", "b"]).tolist() == [0, 0]


@given(st.text().filter(plain), st.lists(st.text(), unique=True, max_size=20))
def test_documents_of_any_name_have_numbers_of_their_own(query, names):
    numbers = document_numbers(query, names)
    assert numbers.dtype == np.int64
    assert len(set(numbers.tolist())) == len(names)
    assert 0 not in numbers
