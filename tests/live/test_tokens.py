"""An impression id can be checked by whoever has the secret, made by nobody else, and outlives a rotation."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.live.errors import RequestError
from rankloop.live.stores.rows import Secret
from rankloop.live.tokens import FIELDS, MAC_BYTES, SETTLING, Signer, Token

OLD, NEW = Secret(1, b"o" * 32, 0), Secret(2, b"n" * 32, 1_000_000)
numbers = st.integers(0, 2**63 - 1)


@given(model=st.integers(0, 2**32 - 1), number=numbers, at=numbers)
def test_what_was_signed_is_read_back(model, number, at):
    text = Signer([NEW, OLD]).sign(model, number, at)
    assert Signer([OLD, NEW]).verify(text) == Token(model, number, at)
    assert text.replace("-", "").replace("_", "").isalnum()  # it can stand in an address as it is


@given(bit=st.integers(0, 8 * (FIELDS.size + MAC_BYTES) - 1))
def test_no_bit_of_it_can_be_changed(bit):
    text = Signer([OLD]).sign(7, 12, 1000)
    raw = bytearray(base64.urlsafe_b64decode(text + "=="))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(RequestError) as caught:
        Signer([OLD]).verify(base64.urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode())
    assert caught.value.code in ("impression_invalid", "impression_expired")


@given(text=st.text(max_size=80))
def test_no_other_text_is_taken_for_one(text):
    with pytest.raises(RequestError):
        Signer([OLD]).verify(text)


def test_another_secret_makes_another_signature():
    with pytest.raises(RequestError, match="its signature is wrong"):
        Signer([OLD]).verify(Signer([OLD._replace(value=b"x" * 32)]).sign(7, 12, 1000))


def secret_of(text):
    return FIELDS.unpack(base64.urlsafe_b64decode(text + "==")[: FIELDS.size])[0]


def test_a_new_secret_signs_when_every_process_has_had_time_to_hear_of_it():
    signer = Signer([NEW, OLD])
    assert secret_of(signer.sign(1, 1, NEW.created + SETTLING - 1)) == OLD.id
    assert secret_of(signer.sign(1, 1, NEW.created + SETTLING)) == NEW.id


def test_which_secret_signs_depends_on_the_time_alone_so_an_id_can_be_computed_again():
    before = Signer([OLD]).sign(1, 5, NEW.created)
    assert Signer([NEW, OLD]).sign(1, 5, NEW.created) == before


def test_an_old_id_stays_valid_after_a_rotation_and_has_expired_once_its_secret_is_dropped():
    text = Signer([OLD]).sign(1, 5, 10)
    assert Signer([NEW, OLD]).verify(text).number == 5
    with pytest.raises(RequestError, match="signed too long ago") as caught:
        Signer([NEW]).verify(text)
    assert caught.value.code == "impression_expired"


def test_the_only_secret_there_is_signs_at_once():
    assert secret_of(Signer([NEW]).sign(1, 1, NEW.created)) == NEW.id


def test_an_id_has_one_spelling():
    """40 bytes end in a letter with four bits to spare, and padding is optional: other texts hold the same bytes."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    text = Signer([OLD]).sign(7, 12, 1000)
    same = [text[:-1] + letters[letters.index(text[-1]) // 16 * 16 + spare] for spare in range(16)]
    others = [spelling for spelling in same if spelling != text]
    assert len(others) == 15
    assert {base64.urlsafe_b64decode(spelling + "==") for spelling in same} == {base64.urlsafe_b64decode(text + "==")}
    for spelling in (*others, text + "==", text + "="):
        with pytest.raises(RequestError, match="it is not one of this service's ids"):
            Signer([OLD]).verify(spelling)


def test_a_signature_is_128_bits_long():
    assert len(base64.urlsafe_b64decode(Signer([OLD]).sign(7, 12, 1000) + "==")) == FIELDS.size + 16
