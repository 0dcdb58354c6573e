"""The kinds of people by name, and how they are written in files."""

from typing import Any

import msgspec

from rankloop.errors import SettingsError
from rankloop.mistakes import explained
from rankloop.plugins import HINT
from rankloop.users.contract import USERS, User

_PLAIN = "position_based"


def require_user(owner: str, user: Any) -> None:
    """Refuse anything but somebody who clicks."""
    if not isinstance(user, User):
        raise SettingsError(f"{owner}: user must be a user model, such as rl.users.noisy(); got {user!r}")


def to_settings(user: User) -> dict[str, Any]:
    """A user's settings as plain values, for TOML, JSON and manifests."""
    plain = msgspec.json.decode(msgspec.json.encode(user))
    return {name: value for name, value in plain.items() if value is not None}


def from_settings(settings: dict[str, Any]) -> Any:
    """The user that `to_settings` described; without a `kind` a position-based one. Unknown keys are refused."""
    kind = settings.get("kind", _PLAIN) if isinstance(settings, dict) else settings
    if not isinstance(kind, str) or kind not in USERS:
        raise SettingsError(f"kind must be one of {', '.join(USERS)}; got {kind!r}{HINT}")
    try:
        return msgspec.convert({"kind": kind} | settings, USERS[kind])
    except msgspec.ValidationError as error:
        # A check of ours says whose setting it is; msgspec's own (wrong type, unknown key) does not.
        name, message = USERS[kind].__name__, explained(error, USERS[kind], settings)
        raise SettingsError(message if message.startswith(f"{name}: ") else f"{name}: {message}") from None


def person(owner: str, value: Any) -> Any:
    """Somebody as files and command lines say it: a name of the literature's, a kind that needs no settings, a table of
    settings, or a user."""
    if isinstance(value, User):
        return value
    if isinstance(value, dict):
        return from_settings(value)
    from rankloop.users.attraction import ATTRACTIONS

    if isinstance(value, str) and value in ATTRACTIONS:
        return from_settings({"attraction": value, "name": value})
    if isinstance(value, str) and value in USERS:
        return from_settings({"kind": value})
    raise SettingsError(f"{owner}: users must be among {', '.join(ATTRACTIONS)}, or tables; got {value!r}{HINT}")
