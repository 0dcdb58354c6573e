"""What a replay can conclude, and what it cannot, in words.

Two questions. Are the weights what this learner would have learned? That depends on whether it cares who drew a page
and, if so, how many of the pages its own policy might have drawn. And would they have earned more? That is for the
estimates on pages that were held back.
"""

import msgspec

from rankloop.display import counted
from rankloop.live.shadow import DRAWN_BY
from rankloop.live.staleness import is_foreign
from rankloop.logs.replay.estimating import Evaluation
from rankloop.logs.replay.folding import Replay

LIVE_THEN, REPLAYED = "live, then", "replayed"
MOST, FEW = 0.5, 0.05
"""Shares of the pages that must be worth something to the replayed policy, to trust its weights or to look at them."""

IDENTICAL = "the live model itself"
LEARNED = "what it would have learned from these clicks"
ROUGHLY = "roughly what it would have learned"
HARDLY = "little can be concluded from its weights"
NOTHING = "nothing can be concluded from its weights"


class Conclusion(msgspec.Struct, frozen=True):
    """What a replay is good for.

    Attributes:
        verdict: in a few words.
        worth: how many pages of its own policy those of the log were worth to the replayed learner; None if it does
            not care who drew a page, or if that cannot be said.
        pages: how many of the log's pages it could have learned from.
        sentences: the reasons, and what the estimates say.
    """

    verdict: str
    worth: float | None
    pages: int
    sentences: list[str]


def conclude(replayed: Replay, evaluation: Evaluation | None) -> Conclusion:
    """What can be made of a replay that has come to the end of its log."""
    fates, learner, worth = replayed.fold.fates, replayed.settings.learner, replayed.fold.worth
    pages, sentences = fates["learned"] + fates["stale"] + fates["diverged"], []
    if replayed.is_own:
        verdict, worth = IDENTICAL, None
        sentences.append("The settings are the model's own, so its own pages taught it what they taught it then.")
    elif learner.learns_from == "nothing":
        verdict, worth = LEARNED, None
        sentences.append(f"{learner.name} learns nothing, whatever the pages.")
    elif learner.off_policy:
        verdict, worth = LEARNED, None
        sentences.append(
            f"{learner.name} can learn from pages whoever drew them. Had it drawn them itself, it would have shown "
            f"other documents and seen other clicks."
        )
    elif learner.needs_own_pages:
        verdict, worth = NOTHING, None
        sentences.append(
            f"{learner.name} compares rankers on a page that they filled. With these settings it would have compared "
            f"others, from the first step on; what it did with the same comparisons says little about that."
        )
    else:
        verdict = _of_policy_gradient(replayed, pages, sentences)
    if not replayed.is_own or evaluation is None:
        sentences += _earned(evaluation)
    return Conclusion(verdict, worth, pages, sentences)


def _of_policy_gradient(replayed: Replay, pages: int, sentences: list[str]) -> str:
    learner, worth, stale = replayed.settings.learner, replayed.fold.worth or 0.0, replayed.fold.fates["stale"]
    share = worth / pages if pages else 0.0
    sentences.append(
        f"{learner.name}'s update is right for pages of its own policy. The live model drew these: to the replayed "
        f"policy, as it was at each of them, {pages:,} pages were worth {worth:,.0f} of its own."
    )
    if is_foreign(replayed.logged, replayed.settings):
        bound = replayed.settings.guards.stale_below or 0.01
        sentences.append(
            f"{replayed.logged.learner.name} drew with another policy altogether, so each update was weighed by how "
            f"much less likely the page was under the replayed one; {stale:,} pages, less than {bound:.0%} as likely "
            f"or of unknown probability, were set aside (stale)."
        )
    elif stale:
        sentences.append(f"{stale:,} pages, too far from its policy, were set aside (stale).")
    if share >= MOST:
        return ROUGHLY
    sentences.append(
        "Live it would have shown other pages, and learned from those. To know what it becomes, let it learn live, "
        "with a control group."
    )
    return HARDLY if share >= FEW else NOTHING


def _earned(evaluation: Evaluation | None) -> list[str]:
    """What the estimates say of the replayed model and the live one."""
    if evaluation is None:
        return ["What it would have earned was not estimated."]
    wanted = f"{REPLAYED} − {LIVE_THEN}", "examination model", "self-normalised"
    for value in evaluation.differences:
        if (value.policy, value.estimator, value.method) == wanted:
            found = value.estimate
            if found.value is None or found.low is None or found.high is None:
                return [
                    f"What it would have earned cannot be estimated as usual: {found.reason}.",
                    *_instead(evaluation),
                ]
            interval = f"{found.value:+.4f} {evaluation.unit} a page ({found.low:+.4f} to {found.high:+.4f})"
            if found.low <= 0 <= found.high:
                return [f"Whether it would have earned more than the live model, this log cannot tell: {interval}."]
            more = "more" if found.value > 0 else "fewer" if evaluation.unit == "clicks" else "less"
            earned = f"{more} {evaluation.unit}"
            return [f"On pages held back it would have earned {earned} than the live model then: {interval}."]
    return [_untold(evaluation)]


def _untold(evaluation: Evaluation) -> str:
    """Why no page that was held back tells anything, and what to do unless none of the log does."""
    reasons = ", ".join(f"{count:,} {why}" for why, count in evaluation.left_out.items())
    pages = counted(sum(evaluation.left_out.values()), "page")
    always = all(why.startswith(DRAWN_BY) for why in evaluation.left_out)
    advice = "" if always else " Hold back more of the log, such as --evaluate 0.9."
    return (
        f"What it would have earned cannot be estimated: none of the {pages} held back tells of other policies "
        f"({reasons}).{advice}"
    )


def _instead(evaluation: Evaluation) -> list[str]:
    """What can be said where an estimate is refused: beside the policy that drew the pages, with limited weights."""
    return [] if evaluation.corrected is None else [f"What can be said instead: {evaluation.corrected.sentence}"]
