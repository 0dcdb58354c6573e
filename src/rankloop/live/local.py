"""What counts as this machine: one rule for the API, the pages, and where a service without keys may listen.

An open service trusts whoever is on this machine, but not every web page that a browser on it shows. A page of another
site sends its Origin. A site whose name was made to point at this machine (DNS rebinding) is its own origin, so the
Host must not be a name that somebody could own.
"""

import ipaddress
import re
from functools import lru_cache

_ADDRESS = re.compile(r"\[([^\]]*)\](?::\d*)?|([^:]*)(?::\d*)?")
_NAME = re.compile(r"(?:[a-z0-9_-]+\.)*localhost(?::\d*)?")


@lru_cache(maxsize=1_000)
def is_local(host: str) -> bool:
    """Whether a host, with or without a port, is a loopback address, `localhost`, or a name below it.

    >>> [is_local(host) for host in ("127.0.0.1:80", "[::1]:80", "::1", "localhost:80", "shop.localhost")]
    [True, True, True, True, True]
    >>> [is_local(host) for host in ("127.0.0.1.evil.example", "0.0.0.0", "rankloop:80", "[", "")]
    [False, False, False, False, False]
    """
    host = host.lower()
    parts = _ADDRESS.fullmatch(host)
    try:
        return ipaddress.ip_address((parts[1] or parts[2]) if parts else host).is_loopback
    except ValueError:
        return _NAME.fullmatch(host) is not None


def is_own_origin(origin: str, host: str) -> bool:
    """Whether a page that sends this Origin was served under this Host."""
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
