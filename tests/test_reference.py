"""The reference on the documentation site says what can be passed: names, types and defaults of every setting."""

import griffe
import msgspec
import pytest

import rankloop as rl


@pytest.fixture(scope="module")
def package():
    extensions = griffe.load_extensions("website.structs")
    return griffe.load("rankloop", search_paths=["src"], extensions=extensions, submodules=True)


@pytest.mark.parametrize("kind", [rl.ROLTR, rl.Posterior, rl.MLP, rl.users.PositionBased, rl.users.Trust])
def test_a_settings_class_is_called_with_its_fields(package, kind):
    made = package[f"{kind.__module__}.{kind.__qualname__}".removeprefix("rankloop.")].members["__init__"]
    shown = [parameter.name for parameter in made.parameters][1:]
    assert shown == [field.name for field in msgspec.structs.fields(kind)]
    assert not any("Annotated" in str(parameter.annotation) for parameter in made.parameters)
    defaults = {parameter.name: parameter.default for parameter in made.parameters}
    required = [field.name for field in msgspec.structs.fields(kind) if field.required]
    assert [name for name in shown if defaults[name] is None] == required
