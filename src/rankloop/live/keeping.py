"""A state, written: everything that the future depends on. `rankloop.live.kept` reads it."""

from typing import TYPE_CHECKING, Any

import msgspec

from rankloop.errors import SettingsError
from rankloop.learners.contract import arrays_of
from rankloop.live.course import began_later
from rankloop.live.kept import FORMAT
from rankloop.live.settings import stored_settings

if TYPE_CHECKING:
    from rankloop.live.fold import Fold


def content_of(fold: "Fold") -> dict[str, Any]:
    """What is kept of a state, but for the number of its format. What a model does without is not there."""
    content: dict[str, Any] = {
        "arrays": {name: array.tobytes() for name, array in arrays_of(fold.ranker.model).items()},
        "scaling": fold.scaler.state(),
        "mode": fold.mode,
        "version": fold.version,
        "fates": dict(fold.fates),
        "clicks": fold.clicks,
        "moved": fold.moved,
        "explored": fold.explored,
        "influence": fold.influence.kept(),
        "outliers": dict(fold.outliers),
    }
    if fold.settings.guards.compares:
        content["guard"] = fold.guard.kept()
    if fold.consistency is not None:
        content["consistency"] = fold.consistency.kept()
    if fold.looks is not None:
        content["looks"] = fold.looks.kept()
    if fold.experiments.all:
        content["experiments"] = [experiment.kept() for experiment in fold.experiments.all]
    if fold.watch is not None:
        content["watch"] = fold.watch.kept()
    if fold.reign:
        content["reign"] = fold.reign
    if fold.shadow is not None:
        content["shadow"] = fold.shadow.kept()
    if drawers := _drawers(fold):
        content["drawers"] = drawers
    return content | fold.noted.kept()


def _drawers(fold: "Fold") -> dict[int, bytes]:
    """Whose settings drew pages, but for what a model was made with, which is in its log."""
    own = fold.shadow is None
    return {reign: msgspec.json.encode(settings) for reign, settings in fold.drawers.items() if reign or not own}


def is_same(kept: bytes, own: bytes) -> bool:
    """Whether kept bytes are the same state as these. Before there were formats, they had no number; the course of the
    gain may have begun later, with the version of rankloop that follows it; and settings of pages' drawers may lack
    what there was not then."""
    try:
        content = {"format": FORMAT} | msgspec.msgpack.decode(kept)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return False
    whole = msgspec.msgpack.decode(own)
    if began_later(content.get("course"), whole.get("course")):
        content["course"] = whole["course"]
    if content.keys() != whole.keys():
        return False
    if drawers := content.get("drawers"):
        try:
            content["drawers"] = {reign: msgspec.json.encode(stored_settings(text)) for reign, text in drawers.items()}
        except (msgspec.DecodeError, SettingsError, AttributeError):
            return False
    return msgspec.msgpack.encode({name: content[name] for name in whole}) == own
