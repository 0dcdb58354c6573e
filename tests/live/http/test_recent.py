"""How quick answers were: since the start, and minute by minute over the last day."""

from rankloop.live.http.recent import BOUNDS, KEPT_MINUTES, Answers, Recent


def test_a_day_is_kept_by_minute_and_everything_in_sum():
    minutes = iter(range(KEPT_MINUTES + 10))
    recent = Recent(clock=lambda: 60.0 * next(minutes))
    for _ in range(KEPT_MINUTES + 10):
        recent.note("rank", 200, 0.01)
    assert list(recent.minutes(0)) == list(range(10, KEPT_MINUTES + 10))
    assert recent.since_start["rank"].count == KEPT_MINUTES + 10


def test_answers_are_summed_over_endpoints_and_minutes():
    now = [0.0]
    recent = Recent(clock=lambda: now[0])
    for minute, endpoint, status in ((0, "rank", 200), (1, "rank", 404), (1, "click", 503)):
        now[0] = 60.0 * minute
        recent.note(endpoint, status, 0.01)
    assert {minute: answers.count for minute, answers in recent.minutes(0).items()} == {0: 1, 1: 2}
    assert {minute: answers.count for minute, answers in recent.minutes(0, ["rank"]).items()} == {0: 1, 1: 1}
    assert {name: (answers.refused, answers.failed) for name, answers in recent.endpoints(1).items()} == {
        "rank": (1, 0),
        "click": (0, 1),
    }


def test_an_answer_of_just_a_bound_is_within_it_and_a_very_slow_one_within_none():
    answers = Answers()
    answers.note(200, BOUNDS[3])
    answers.note(200, 100 * BOUNDS[-1])
    assert (answers.within(BOUNDS[2]), answers.within(BOUNDS[3]), answers.within(BOUNDS[-1])) == (0, 1, 1)
    assert answers.quantile(1.0) == BOUNDS[-1]
    assert Answers().quantile(0.5) is None
