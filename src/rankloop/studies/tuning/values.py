"""Settings as text: on a line of TOML, and in a table."""

import json
import re
from typing import Any


def toml(value: Any) -> str:
    """A plain value as TOML, on one line.

    >>> toml({"eta": 0.5, "ranks": [1, 2], "baseline": True, "name": 'a "b"'})
    '{ eta = 0.5, ranks = [1, 2], baseline = true, name = "a \\\\"b\\\\"" }'
    """
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def described(chosen: dict[str, Any]) -> str:
    """Settings in a word.

    >>> described({"reward": "ips+", "discount": 0.5})
    'reward=ips+, discount=0.5'
    """
    return ", ".join(f"{name}={value if isinstance(value, str) else toml(value)}" for name, value in chosen.items())


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)
