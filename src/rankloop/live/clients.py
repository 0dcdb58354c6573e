"""What the log keeps of people: a keyed hash, enough to recognise and to forget somebody, not to know who it is."""

import secrets
from hashlib import blake2b

from rankloop.live.stores.contract import Store

NETWORK = "network:"
"""Before a network's name when it is hashed, so that no client is called like one."""
SALT = "client_salt"


def client_hash(client: str, salt: bytes) -> bytes:
    """What the log keeps of a client's name."""
    return blake2b(client.encode("utf-8", "surrogatepass"), key=salt, digest_size=16).digest()


def client_salt(store: Store) -> bytes:
    """What clients' hashes are keyed with: drawn once per store, also by processes that start together."""
    salt = store.fact(SALT) or store.keep_fact(SALT, secrets.token_hex(32))
    return bytes.fromhex(salt)
