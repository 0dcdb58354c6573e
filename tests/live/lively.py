"""A diary in which everything happens."""

import numpy as np

from rankloop.live.events import Kind, Restored, encode
from rankloop.live.settings import Guards, ModelSettings

from .diary import FOR_ALL, Diary, page_of

FEATURES = 3


def model(**more) -> ModelSettings:
    return ModelSettings(name="m", **({"features": FEATURES, "page_size": 4, "seed": 7, "guards": FOR_ALL} | more))


def candidates(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=(3 + number % 5, FEATURES)).astype(np.float32)


def lively(learner, pages=30, **more) -> Diary:
    """A diary with everything in it: late closings, pins, groups, pauses, a roll back, a void page, caps."""
    guards = Guards(control=0.4, update_cap=0.02, client_pages=1, client_share=0.0, anonymous_share=0.0)
    diary = Diary(model(**({"learner": learner, "scaling": "running", "guards": guards} | more)))
    rng = np.random.default_rng(1)
    waiting, states = [], []
    for number in range(pages):
        pinned = {1: 0} if number % 7 == 3 else {}
        client = [b"anna....", b"", b"bert....", b"anna...."][number % 4]
        waiting.append(diary.show(candidates(number), client=client, pinned=pinned))
        if number % 3 == 2:
            due = set(rng.permutation(len(waiting))[:2].tolist())
            for place in sorted(due, reverse=True):
                shown = waiting[place]
                clicks = rng.choice([0.0, 0.0, 0.25, 0.5, 1.0], size=len(page_of(shown).page))
                diary.close(shown, clicks.tolist(), why="void" if number % 11 == 5 else "asked")
            waiting = [shown for place, shown in enumerate(waiting) if place not in due]
        states.append(diary.fold.state())
        if number == 12:
            diary.control(Kind.PAUSED)
        if number == 15:
            diary.control(Kind.RESUMED)
        if number == 20:
            diary.control(Kind.ROLLED_BACK, encode(Restored(0, states[9])))
        if number == 24:
            diary.control(Kind.SCALING_FROZEN)
    return diary
