"""From a report of actions to what is said about them: by name, once each, late ones too, the same after a refold."""

import msgspec
import numpy as np
import pytest
from pyarrow import parquet

from rankloop.learners import ROLTR
from rankloop.live import evidencing
from rankloop.live.errors import RequestError
from rankloop.live.events import Closing, Kind, Late, decode
from rankloop.live.requests import Action, ClickBody
from rankloop.live.stores import each_event, opened
from rankloop.live.ubi import all_events
from rankloop.logs.click_file import write_click_log
from rankloop.logs.clicked import read_clicks
from rankloop.logs.refolding import refolding
from rankloop.logs.trimming import erase
from rankloop.logs.verifying import verify

from .in_process import model, rank, running, told, until, weights

SHOP = {"click": 0.2, "cart": 0.5, "purchase": 1.0}


def bought(impression, *pairs, clicks=(), close=False):
    return ClickBody(impression, list(clicks), close, [Action(document, action) for document, action in pairs])


async def act(service, *args, **more):
    [answer] = await service.click([bought(*args, **more)])
    return answer


def shop(**more):
    return model(**({"actions": SHOP} | more))


async def learned(service, impression):
    await service.close(impression, wait=True)


def bodies(path, kind):
    with opened(path) as store:
        return [decode(event.kind, event.body) for event in each_event(store, kinds=(kind,))]


def test_the_most_valuable_thing_that_happened_to_a_document_counts_and_each_is_counted(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", shop()) as service:
            page = await rank(service, query="desk")
            first, second = page.ranking[:2]
            answer = await act(service, page.impression, (first, "purchase"), (second, "cart"), clicks=[first, second])
            assert (answer.accepted, answer.duplicate) == (4, 0)
            answer = await act(service, page.impression, (first, "cart"), (first, "purchase"), clicks=["d99"])
            assert (answer.accepted, answer.duplicate, answer.unknown) == (1, 1, ["d99"])
            await learned(service, page.impression)
            report = await evidencing.actions(service, service.registry.get("m"))
            assert [(one.name, one.value, one.count, one.late) for one in report.actions] == [
                ("click", 0.2, 2, 0), ("cart", 0.5, 2, 0), ("purchase", 1.0, 1, 0),
            ]  # fmt: skip
            assert (await evidencing.queries(service, service.registry.get("m"), 5)).pages == 1

    told(story())
    [closing] = bodies(tmp_path / "log.db", Kind.CLOSED)
    assert closing.clicks == pytest.approx([1.0, 0.5, 0.0])
    assert closing.actions == [0b111, 0b011, 0]
    assert verify(tmp_path / "log.db").problems == []


def test_what_a_model_has_no_name_for_is_refused_with_the_names_it_has(tmp_path):
    async def story():
        plain = model(actions={"cart": 0.5, "purchase": 1.0})
        async with running(tmp_path / "log.db", plain) as service:
            page = await rank(service)
            with pytest.raises(RequestError, match="report 0: actions: this model has no action 'buy'; its"):
                await act(service, page.impression, (page.ranking[0], "buy"))
            with pytest.raises(RequestError, match="no action 'click'; its actions are cart, purchase"):
                await act(service, page.impression, clicks=page.ranking[:1])

    told(story())


async def bought_later(path, when, **more):
    """Two pages, the first with a purchase: on time, or after both were learned from."""
    async with running(path, shop(**more)) as service:
        pages = [await rank(service, query="desk", client=f"c{place}") for place in range(2)]
        first = pages[0]
        if when == "on time":
            await act(service, first.impression, (first.ranking[1], "purchase"), clicks=first.ranking[1:2])
        else:
            await act(service, first.impression, clicks=first.ranking[1:2])
        for page in pages:
            await learned(service, page.impression)
        if when == "late":
            before = weights(service).copy()
            answer = await act(service, first.impression, (first.ranking[1], "purchase"))
            assert (answer.accepted, answer.late, answer.taken_late) == (0, 1, 1)
            again = await act(service, first.impression, (first.ranking[1], "purchase"), clicks=first.ranking[1:2])
            assert (again.late, again.taken_late) == (2, 0)
            last = service.store.last_offset()
            await until(lambda: service.registry.get("m").has_applied(last - 1))
            assert (weights(service) != before).any() == (service.registry.get("m").settings.learner.takes_more)
        report = await evidencing.actions(service, service.registry.get("m"))
        fold = service.folds()[1]
        return [(one.count, one.late) for one in report.actions], weights(service).copy(), fold.clicks, fold.state()


def test_a_purchase_of_tomorrow_is_counted_and_learned_from_once(tmp_path):
    late = told(bought_later(tmp_path / "late.db", "late"))
    prompt = told(bought_later(tmp_path / "prompt.db", "on time"))
    never = told(bought_later(tmp_path / "never.db", "never"))
    assert late[0] == [(1, 0), (0, 0), (1, 1)]
    assert prompt[0] == [(1, 0), (0, 0), (1, 0)]
    assert late[2] == pytest.approx(prompt[2]) == 1.0
    # Nearer to what would have been learned on time: all that is missing is that the model has moved in between.
    assert np.linalg.norm(late[1] - prompt[1]) < 0.25 * np.linalg.norm(never[1] - prompt[1])
    [more] = bodies(tmp_path / "late.db", Kind.LATE)
    assert (more.before, more.clicks) == (pytest.approx([0.0, 0.2, 0.0]), [0.0, 1.0, 0.0])
    found = verify(tmp_path / "late.db")
    assert found.problems == []
    assert found.models[0].different == 0
    assert found.models[0].checked >= 1


def test_what_happened_leaves_as_ubi_and_as_a_click_log_by_name(tmp_path):
    path = tmp_path / "late.db"
    told(bought_later(path, "late"))
    with opened(path) as store:
        pages = [found for _, found in all_events(store, lambda *_: "page", 1, "m")]
        write_click_log(store, tmp_path / "clicks.parquet", "m")
    [first, second, late] = [[event.action_name for event in page] for page in pages]
    assert (first, second) == (["impression"] * 3 + ["click"], ["impression"] * 3)
    assert late == ["purchase"]
    assert pages[2][0].event_attributes.rankloop_reward is None
    assert pages[0][3].event_attributes.rankloop_reward == 0.2
    table = parquet.read_table(tmp_path / "clicks.parquet").to_pydict()
    assert table["click"] == pytest.approx([0, 1, 0, 0, 0, 0])
    assert table["action.click"] == table["action.purchase"] == [False, True, *[False] * 4]
    assert not any(table["action.cart"])
    assert read_clicks(tmp_path / "clicks.parquet").pages == 2


def test_other_methods_count_what_is_late_and_learn_nothing_from_it(tmp_path):
    late = told(bought_later(tmp_path / "late.db", "late", learner=ROLTR()))
    assert late[0] == [(1, 0), (0, 0), (1, 1)]


def test_a_model_with_clicks_alone_takes_late_ones_as_ever(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            page = await rank(service)
            await learned(service, page.impression)
            answer = await act(service, page.impression, clicks=page.ranking[:1])
            assert (answer.late, answer.taken_late) == (1, 0)

    told(story())
    assert bodies(tmp_path / "log.db", Kind.LATE) == []


def test_a_page_that_nobody_saw_cannot_be_bought_from(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", shop()) as service:
            page = await rank(service)
            service._void([(1, 0)])
            await until(lambda: service.store.ended(1, 0) is not None)
            answer = await act(service, page.impression, (page.ranking[0], "purchase"))
            assert (answer.late, answer.taken_late) == (1, 0)

    told(story())
    [closing] = bodies(tmp_path / "log.db", Kind.CLOSED)
    assert isinstance(closing, Closing)
    assert closing.why == "void"


def test_an_erased_person_is_in_no_evidence_after_a_refold(tmp_path):
    path = tmp_path / "log.db"

    async def story():
        async with running(path, shop()) as service:
            for who in ("anna", "bert"):
                for _ in range(2):
                    page = await rank(service, query=f"{who}s desk", segment=who, client=who)
                    await act(service, page.impression, (page.ranking[0], "purchase"))
                    await learned(service, page.impression)
            await act(service, page.impression, (page.ranking[1], "purchase"))

    told(story())
    erase(path, "bert")
    with opened(path) as store:
        assert [event.kind for event in each_event(store, kinds=(Kind.LATE,))] == []
    with refolding(path, "m") as again:
        again.compare()
        again.serve(at=1)

    async def after():
        async with running(path) as service:
            fold = service.folds().get(1)
            if fold is None:
                await until(lambda: 1 in service.folds())
                fold = service.folds()[1]
            return fold.noted

    noted = told(after())
    assert noted.acts.counts == [0, 0, 2]
    assert noted.evidence.pages == 2
    assert noted.evidence.segments.names == ["", "anna"]
    assert len(noted.evidence.queries.keys) == 1


def test_elsewhere_it_is_read_from_what_was_kept(tmp_path):
    path = tmp_path / "log.db"

    async def story():
        async with running(path, shop()) as service:
            page = await rank(service, query="desk", segment="phone")
            await act(service, page.impression, (page.ranking[0], "purchase"))
            await learned(service, page.impression)

    async def elsewhere():
        async with running(path, learn=False) as service:
            shop = service.registry.get("m")
            assert (await evidencing.actions(service, shop)).actions[2].count == 1
            assert (await evidencing.queries(service, shop, 1)).unnamed == 1
            assert (await evidencing.segments(service, shop)).other.pages == 1

    told(story())
    told(elsewhere())


def test_the_body_of_what_is_late_comes_back():
    late = Late(1, 2, [0.0], [1.0], [1], [5])
    assert decode(Kind.LATE, msgspec.msgpack.encode(late)) == late
