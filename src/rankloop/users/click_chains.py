"""People who go on less readily the better what they clicked was: the click chain model (Guo et al., 2009)."""

from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.settings import require_probabilities, settle
from rankloop.users.attraction import Attracted, Attraction
from rankloop.users.behaviour import Behaviour

TAU = (0.9, 0.5, 0.25)


class ClickChain(Attracted, frozen=True):
    """Goes on with τ₁ after a skip, with τ₂ (1 − γ) + τ₃ γ after a click.

    Args:
        attraction: γ = P(click | examined), as of `PositionBased`.
        tau: τ₁, τ₂ and τ₃.

    >>> click_chain("perfect").click_probabilities([4, 4, 4])
    array([1.    , 0.25  , 0.0625])
    """

    tau: tuple[float, ...] = TAU

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, tau=require_probabilities("ClickChain", "tau", self.tau))
        if len(self.tau) != 3:
            raise SettingsError(
                f"ClickChain: tau must be three probabilities, of going on after a skip, after a click on what does "
                f"not attract, and after one on what does; got {self.tau!r}"
            )

    def behaviour(self, page_size: int, split: Split | None = None) -> Behaviour:
        """What they do after a click is linear in γ."""
        gammas, by_row = self.gammas(split)
        skipped, poor, good = self.tau
        return Behaviour.of(
            page_size, gammas, by_row=by_row, after_click=poor, after_skip=skipped, tilt=good - poor
        )  # fmt: skip


def click_chain(
    attraction: Attraction, *, tau: tuple[float, ...] = TAU, grades: int | None = None, name: str = ""
) -> ClickChain:
    """People who go on less readily the better what they clicked was: `click_chain("navigational")`."""
    made = ClickChain(attraction, tau, name=name)
    return made if grades is None else made.graded(grades)
