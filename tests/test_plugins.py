"""Work from outside the package is known by name, and what is wrong with it is one sentence."""

import pickle
import subprocess
import sys
from typing import Annotated

import msgspec
import pytest

import rankloop as rl
from rankloop import plugins, sources
from rankloop.errors import DataError, SettingsError
from rankloop.learners import LEARNERS
from rankloop.plugins import ATTRIBUTES, Registry, attribute, load, needed_by, register
from rankloop.rankers import RANKERS, Ranker
from rankloop.settings import whole_number
from rankloop.studies.tuning.search import tune


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch, tmp_path):
    """What a test brings is gone after it: from the registries, the modules and the module path."""
    kept = {id(one): dict(one) for one in (LEARNERS, RANKERS, ATTRIBUTES)}
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setattr(sources, "_companions", {})
    yield
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
    for one in (LEARNERS, RANKERS, ATTRIBUTES):
        one.clear()
        one.update(kept[id(one)])


def written(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


METHOD = """
import rankloop as rl

@rl.register
class Careful(rl.PDGD, frozen=True):
    learning_rate: float = 0.001
"""


def test_a_ranker_has_underscores_in_files_and_checks_its_settings_as_a_learner_does():
    @register
    class SmallNet(Ranker, frozen=True):
        units: Annotated[int, whole_number(at_least=1)] = 8

        def __post_init__(self):
            super().__post_init__()

    assert SmallNet.name == "small_net"
    made = rl.learners.from_settings({"learner": "PDGD", "ranker": {"kind": "small_net", "units": 4}})
    assert made == rl.PDGD(ranker=SmallNet(units=4))
    assert (rl.Linear.name, rl.MLP.name) == ("linear", "mlp")
    with pytest.raises(SettingsError, match="SmallNet: units must be a whole number"):
        SmallNet(units=0)


def test_a_registered_class_is_known_by_its_name():
    @register
    class Bold(rl.ROLTR, frozen=True):
        learning_rate: float = 1.0

    @register
    class Cubes(Ranker, frozen=True):
        power: int = 3

    assert rl.learners.from_settings({"learner": "Bold"}) == Bold()
    made = rl.learners.from_settings({"learner": "PDGD", "ranker": {"kind": "cubes", "power": 5}})
    assert made == rl.PDGD(ranker=Cubes(power=5))
    assert rl.learners.from_settings(rl.learners.to_settings(made)) == made
    with pytest.raises(SettingsError, match=r"PDGD: ranker: kind must be one of linear.*; got 'quartic'"):
        rl.learners.from_settings({"learner": "PDGD", "ranker": {"kind": "quartic"}})


def test_a_name_belongs_to_one_class():
    with pytest.raises(SettingsError, match=r"the learner 'PDGD', but rankloop\.learners\.pdgd\.PDGD has that"):
        register(type("PDGD", (rl.PDGD,), {"__module__": "mine"}, frozen=True))
    assert LEARNERS["PDGD"] is rl.PDGD
    for _ in range(2):  # a cell of a notebook that is run again
        register(type("Mine", (rl.PDGD,), {"__module__": "notebook"}, frozen=True))


@pytest.mark.parametrize("thing", [int, 3, msgspec.Struct, print])
def test_only_settings_of_the_three_kinds_are_registered(thing):
    with pytest.raises(SettingsError, match="register takes a class on"):
        register(thing)


def test_people_see_the_attributes_that_a_plugin_brings_and_their_collection_lacks():
    @attribute
    def taste(split):
        return 0.25 + 0.5 * (split.grades > 1)

    data, person = rl.load("tiny"), rl.users.trust(rl.users.ByAttribute("taste"))
    crowd = rl.users.mixture(["noisy", rl.users.drift(["perfect", person], at=[5])])
    assert crowd.all_attributes == ("taste",)
    assert rl.users.noisy().seen_on(data) is data
    seen = crowd.seen_on(data)
    assert seen.test.attribute("taste").tolist() == (0.25 + 0.5 * (data.test.grades > 1)).tolist()
    assert seen.content_hash != data.content_hash
    run = rl.simulate(rl.PDGD(), person, data, 50, seed=1, evaluate_every=0)
    same = rl.simulate(rl.PDGD(), person, data.with_attributes(taste=taste), 50, seed=1, evaluate_every=0)
    assert run.clicks.tolist() == same.clicks.tolist()
    assert run.settings["data"]["hash"] == seen.content_hash
    own = data.with_attributes(taste=lambda split: 0.0 * split.grades)
    assert person.seen_on(own) is own


@pytest.mark.parametrize("call", ["simulate", "simulate_many", "tune"])
@pytest.mark.parametrize(("wrong", "words"), [(ZeroDivisionError("by zero"), "by zero"), (SystemExit(3), "3")])
def test_an_attribute_that_cannot_be_told_is_named_whoever_looks_at_it(call, wrong, words):
    @attribute
    def taste(split):
        raise wrong

    data, person = rl.load("tiny"), rl.users.trust(rl.users.ByAttribute("taste"))
    calls = {
        "simulate": lambda: rl.simulate(rl.PDGD(), person, data, 50, seed=1),
        "simulate_many": lambda: rl.simulate_many(rl.PDGD(), person, data, 50, seeds=1, workers=1, progress=False),
        "tune": lambda: tune(rl.PDGD(), person, data, search={"learning_rate": [0.1]}, impressions=5, workers=1),
    }
    sentence = f"the attribute taste failed: {type(wrong).__name__}: {words} .*test_plugins.py, line [0-9]+"
    with pytest.raises(SettingsError, match=sentence) as caught:
        calls[call]()
    assert caught.value.__cause__ is wrong


def test_what_an_attribute_says_in_a_sentence_of_its_own_stays_as_it_is():
    @attribute
    def taste(split):
        return split.attribute("price")

    with pytest.raises(DataError, match="the documents have no attribute 'price'"):
        rl.users.trust(rl.users.ByAttribute("taste")).seen_on(rl.load("tiny"))


def test_an_attribute_has_one_home_and_is_a_function():
    def files(split):
        return split

    attribute(plugins.files)
    with pytest.raises(SettingsError, match=r"would be the attribute 'files', but rankloop\.plugins\.files has that"):
        attribute(files)
    with pytest.raises(SettingsError, match="attribute takes a function of a split"):
        attribute("taste")


def test_a_registry_without_names_is_told():
    with pytest.raises(SettingsError, match="a user needs a name, given as tag="):
        Registry("user", [msgspec.defstruct("Nameless", [])])


def test_a_plugin_is_a_file_beside_the_study_or_any_module(tmp_path, monkeypatch):
    path = written(tmp_path, "careful_methods.py", METHOD)
    assert load(["careful_methods"], tmp_path) == (str(path),)
    careful = rl.learners.from_settings({"learner": "Careful"})
    assert needed_by(careful, rl.users.noisy()) == [str(path)]
    assert load([str(path)]) == load(["./careful_methods.py"], tmp_path) == (str(path),)
    assert load(["json.decoder"]) == ("json.decoder",)
    monkeypatch.chdir(tmp_path)
    assert load(["careful_methods"]) == (str(path),)


def test_a_plugin_may_be_a_package_and_is_found_by_its_file_again(tmp_path):
    written(tmp_path, "careful_package/__init__.py", "from .inner import Careful\n")
    inner = written(tmp_path, "careful_package/inner.py", METHOD + "from .constants import RATE\n")
    written(tmp_path, "careful_package/constants.py", "RATE = 1\n")
    assert load(["careful_package"], tmp_path) == (str(tmp_path / "careful_package" / "__init__.py"),)
    assert load([str(inner)]) == load(["careful_package.inner"], tmp_path) == (str(inner),)
    assert LEARNERS["Careful"].__module__ == "careful_package.inner"
    assert plugins.files([str(inner)]) == [tmp_path / "careful_package"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 / 0", r"plugin 'wrong' cannot be imported: ZeroDivisionError: division by zero \(.*wrong.py, line 1\)"),
        ("import no_such_module", "plugin 'wrong' cannot be imported: ModuleNotFoundError: No module named 'no_such"),
        ("def f(:", r"plugin 'wrong' cannot be imported: invalid syntax \(.*wrong.py, line 1\)"),
        ("import sys; sys.exit(3)", "plugin 'wrong' cannot be imported: SystemExit: 3"),
        (METHOD.replace("Careful", "PDGD"), "plugin 'wrong': wrong.PDGD would be the learner 'PDGD', but rankloop"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_one_sentence(tmp_path, text, sentence):
    written(tmp_path, "wrong.py", text)
    with pytest.raises(SettingsError, match=sentence) as raised:
        load(["wrong"], tmp_path)
    assert "\n" not in str(raised.value)


def test_a_plugin_that_is_not_there_or_hidden_by_another_is_one_sentence(tmp_path):
    with pytest.raises(SettingsError, match=r"no plugin 'nowhere': there is no nowhere.py in .*, and no module"):
        load(["nowhere"], tmp_path)
    with pytest.raises(SettingsError, match=r"no plugin 'a/nowhere.py': there is no file /.*/a/nowhere.py"):
        load(["a/nowhere.py"], tmp_path)
    with pytest.raises(SettingsError, match=r"a plugin is the name of a module, or a \.py file; got 'two words'"):
        load(["two words"], tmp_path)
    written(tmp_path, "statistics.py", "")
    with pytest.raises(SettingsError, match=r"Python takes 'statistics' from .*; rename your file"):
        load(["statistics"], tmp_path)


APART = {
    "{kind}_told.py": """
import rankloop as rl
from typing import NamedTuple

class Told(NamedTuple):
    number: int

class Apart(rl.{base}, frozen=True):
    pass
""",
    "{kind}_done.py": """
from {kind}_told import Told
from rankloop.kernels import implements
from rankloop.rankers.contract import score

@implements(score, Told)
def do(told, *rest):
    pass
""",
}


@pytest.mark.process
@pytest.mark.parametrize("base", ["users.User", "learners.Learner", "rankers.Ranker"])
def test_another_process_imports_the_kernels_of_settings_that_stand_in_a_module_of_their_own(tmp_path, base):
    kind = base.partition(".")[0]
    for name, text in APART.items():
        written(tmp_path, name.format(kind=kind), text.format(kind=kind, base=base))
    load([f"{kind}_told", f"{kind}_done"], tmp_path)
    sent = pickle.dumps(sys.modules[f"{kind}_told"].Apart())
    code = f"import pickle, sys; print(type(pickle.loads({sent!r})).__name__, '{kind}_done' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "Apart True\n"


def test_what_an_installed_plugin_raises_is_told_with_its_file_and_line(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    announced = site / "broken_methods-1.dist-info"
    announced.mkdir(parents=True)
    (announced / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-methods\nVersion: 1\n")
    (announced / "entry_points.txt").write_text("[rankloop.plugins]\nbroken = broken_methods\n")
    (announced / "RECORD").write_text("broken_methods.py,,\nbroken_methods-1.dist-info/METADATA,,\n")
    (site / "broken_methods.py").write_text("first = 1\nsecond = 1 / 0\n")
    monkeypatch.syspath_prepend(str(site))
    for known in (plugins._announced, plugins._installed):
        known.cache_clear()
    try:
        with pytest.raises(SettingsError, match=r"'broken' .*ZeroDivisionError: .*broken_methods\.py, line 2\)"):
            plugins.load_installed()
    finally:
        monkeypatch.undo()
        for known in (plugins._announced, plugins._installed):
            known.cache_clear()
