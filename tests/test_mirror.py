"""The tests of a module are found by its name: tests/ has the folders and the names of src/rankloop."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src" / "rankloop"


def test_every_module_has_a_test_file_of_its_name():
    modules = [path.relative_to(SOURCES) for path in sorted(SOURCES.rglob("*.py")) if path.name != "__init__.py"]
    assert modules, f"no modules in {SOURCES}"
    missing = [
        f"{module}: no tests/{test}"
        for module in modules
        if not (TESTS / (test := module.with_name(f"test_{module.name}"))).exists()
    ]
    assert not missing, "\n".join(missing)
