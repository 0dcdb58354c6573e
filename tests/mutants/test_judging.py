"""What is known to pass without any mutant is not tried again until it changes."""

import subprocess

from .judging import Copy


def test_a_folder_of_tests_is_proven_until_one_of_them_changes(tmp_path):
    root, copies = tmp_path / "project", tmp_path / "copies"
    copies.mkdir()
    for name in ("src/rankloop/metrics.py", "tests/metrics/test_ndcg.py"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    copy = Copy(root, copies)
    unproven = copy.unproven({"tests/metrics"}, "")
    assert list(unproven) == ["tests/metrics"]
    copy.prove(unproven)
    assert copy.unproven({"tests/metrics"}, "") == {}
    (copy.root / "tests/metrics/test_ndcg.py").write_text("assert True")
    assert list(copy.unproven({"tests/metrics"}, "")) == ["tests/metrics"]
