"""The notebooks in `examples/` run from top to bottom in a kernel of their own, on less than they ship with."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from tests.patience import PATIENCE

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))
SMALLER = "IMPRESSIONS, EVERY, SEEDS, SCALE = 200, 50, 3, 0.005"


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    notebook = nbformat.read(path, as_version=4)
    (parameters,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    parameters.source = SMALLER
    client = NotebookClient(
        notebook, timeout=PATIENCE, startup_timeout=PATIENCE, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert [output.data["text/html"] for output in outputs(notebook) if "text/html" in output.get("data", {})]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_ships_with_what_it_shows_and_without_errors(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(cell.outputs or "parameters" in cell.metadata.get("tags", []) or "import" in cell.source
               for cell in notebook.cells if cell.cell_type == "code")  # fmt: skip
    assert not [
        output for output in outputs(notebook) if output.output_type in ("error", "stream") and "rror" in str(output)
    ]
    assert path.stat().st_size < 1_000_000


def test_there_are_two():
    assert len(NOTEBOOKS) == 2
