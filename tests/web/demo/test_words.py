"""Identifiers are found whole and in parts; anything else in a text is only a separator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.web.demo.words import MOST_TERMS, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("os.path.join", ["os.path.join", "os", "path", "join"]),
        ("OrderedDict", ["ordereddict", "ordered", "dict"]),
        ("read_csv", ["read_csv", "read", "csv"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("__init__", ["__init__", "init"]),
        ("parseFile", ["parsefile", "parse", "file"]),
        ("Grüße, groß_Er größer", ["grüsse", "gross_er", "gross", "er", "grösser"]),
        ("end. Next", ["end", "next"]),
        ("x" * 65, []),
        ("🐍 -- ;", []),
    ],
)
def test_the_words_of_a_text(text, expected):
    assert [w.word for w in words(text)] == expected


@given(st.text(max_size=200))
def test_every_word_stands_where_it_says(text):
    for word, start, end in words(text):
        assert 0 <= start < end <= len(text)
        assert word
        assert not set(word) & set("\"'*()^:- \0")
        assert text[start].casefold().startswith(word[0]) or not word.isascii()


@given(st.text(max_size=3000))
def test_a_query_has_few_different_terms_whatever_is_typed(query):
    found = terms(query)
    assert len(found) == len(set(found)) <= MOST_TERMS


def test_plurals_and_common_words_do_not_matter():
    assert terms("Reading the files") == terms("reading a file")
