"""What becomes of a closed impression."""

from rankloop.live.events import Closing, Group, Impression
from rankloop.live.settings import ModelSettings

FATES = (
    "learned",
    "control",
    "guarded",
    "fallback",
    "capped",
    "paused",
    "void",
    "pinned",
    "interleaved",
    "stale",
    "diverged",
    "missing",
)
"""What can become of a closed impression: learned from, or why not."""


def fate_of(closing: Closing, impression: Impression, settings: ModelSettings, mode: str) -> str:
    """What becomes of it in a model with these settings and in this mode, before anything is learned."""
    if closing.why == "void":
        return "void"
    if impression.group != Group.LEARNED and not (
        impression.group == Group.INTERLEAVED and learns_from_drafts(settings)
    ):
        return Group(impression.group).name.lower()
    if mode != "learning" or impression.greedy:
        return "paused"
    if len(impression.pinned) == len(impression.page):
        return "pinned"
    return "learned"


def learns_from_drafts(settings: ModelSettings) -> bool:
    """Whether a model's method learns from interleaved pages, which it did not draw alone: where its update is right
    whoever drew a page, and needs nothing that was noted when it was drawn."""
    return settings.learner.off_policy and settings.learner.note_width() == 0
