"""What follows from a name and its documentation."""

import pytest

from rankloop.web.demo.documents import document, first_sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("See e.g. this one. Not that.", "See e.g. this one."),
        ("f(x) -> y\n\nDo it.", "Do it."),
        ("f(x)", "f(x)"),
        ("No stop\n\nMore", "No stop"),
        ("Use os.path. Then go.", "Use os.path."),
        ("w " * 500, "w " * 119 + "w…"),
    ],
)
def test_the_first_sentence_ends_where_a_reader_would_end_it(text, sentence):
    assert first_sentence(text) == sentence


def test_what_follows_from_the_rest_is_filled_in():
    method = document("str.split", "method", "builtins", "split(sep=None)", "\n  Cut it. Twice.\n")
    assert (method.name, method.depth, method.summary, method.text) == ("split", 1, "Cut it.", "Cut it. Twice.")
    assert document("os.path", "module", "os.path", "os.path", "").name == "os.path"


def test_addresses_in_memory_are_left_out_because_they_differ_every_time():
    made = document("m.f", "function", "m", "f(x=<object object at 0x7f00beef>)", "Takes <m.X at 0xABC>.")
    assert made.signature == "f(x=<object object>)"
    assert made.text == "Takes <m.X>."


def test_a_signature_is_cut_where_it_is_endless():
    made = document("m.f", "function", "m", f"f({'x, ' * 200})", "")
    assert len(made.signature) <= 240
    assert made.signature.endswith("…")
