"""A snippet is plain text, and its marks stand on the words that were looked for."""

from hypothesis import given
from hypothesis import strategies as st

from rankloop.web.demo.documents import document
from rankloop.web.demo.snippets import snippet
from rankloop.web.demo.words import terms, words


def of(text: str, query: str):
    return snippet(document("m.f", "function", "m", "f()", text), terms(query))


def test_marks_stand_on_the_words_looked_for():
    found = of("Join paths. Uses os.sep.", "path os")
    assert [found.text[start:end] for start, end in found.marks] == ["paths"]


def test_a_word_deep_in_the_text_brings_its_surroundings():
    found = of("First. " + "and so on " * 100 + "the needle is here " + "and on " * 100, "needle")
    assert found.text.startswith("… ")
    assert found.text.endswith(" …")
    assert [found.text[start:end] for start, end in found.marks] == ["needle"]
    assert len(found.text) <= 204


def test_where_no_word_is_found_the_first_sentence_stands():
    assert of("Nothing here. At all.", "needle") == ("Nothing here.", ())
    assert of("", "needle") == ("", ())


def test_marks_around_code_are_not_shown():
    """“Deserialize ``s`` (a ``str``, ``bytes`` …”, in the fifth result of the demo's first page."""
    assert of("Read ``fp`` with `read`, see :func:`json.load`.", "read").text == "Read fp with read, see json.load."
    found = of("First. Then read the ``file``.", "file")
    assert [found.text[start:end] for start, end in found.marks] == ["file"]


def test_markup_in_a_documentation_stays_text():
    assert of("<script>alert(file)</script>", "file").text == "<script>alert(file)</script>"


@given(st.text(max_size=600), st.sampled_from(["file", "a", "os.path x", "0 1"]))
def test_marks_are_in_order_apart_and_inside(text, query):
    found = of(text, query)
    last = 0
    for start, end in found.marks:
        assert last <= start < end <= len(found.text)
        assert {w.word for w in words(found.text[start:end])} & set(terms(query))
        last = end
