"""`rankloop import` and `rankloop warm-up`: settings of live models that start from what somebody has."""

import json

from rankloop.logs.clicked import write_clicks

from ..logs.test_warming import old_log


def test_weights_become_the_settings_of_a_model(rankloop, tmp_path):
    (tmp_path / "ranklib.txt").write_text("## Coordinate Ascent\n1:0.25 2:-0.5\n")
    given = "--name", "shop", "--feature", "bm25", "--feature", "price"
    code, out, _ = rankloop("import", tmp_path / "ranklib.txt", *given)
    assert code == 0
    made = json.loads(out)
    assert (made["name"], made["features"]) == ("shop", ["bm25", "price"])
    assert made["start"] == {"from": "weights", "weights": [0.25, -0.5]}
    code, _, err = rankloop("import", tmp_path / "ranklib.txt", "--feature", "bm25")
    assert (code, "1 names were given for 2 weights" in err) == (2, True)


def test_an_old_log_becomes_the_settings_of_a_model(rankloop, tmp_path):
    write_clicks(tmp_path / "old.parquet", old_log(100))
    code, out, err = rankloop("warm-up", tmp_path / "old.parquet", "--name", "shop", "--start-pages", "30")
    assert code == 0
    assert json.loads(out)["learner"] == {"learner": "Posterior", "start_pages": 30.0}
    assert "100 pages" in err
    assert "how likely people are to look at each rank, learned: 1.00, 0." in err
    code, _, err = rankloop(
        "warm-up", tmp_path / "old.parquet", "--examination", "1,high", "--out", tmp_path / "m.json"
    )
    assert (code, "examination is numbers, such as 1,0.7,0.5; got '1,high'" in err) == (2, True)
    assert not (tmp_path / "m.json").exists()


def test_features_may_lie_beside_the_log(rankloop, tmp_path):
    (tmp_path / "log.csv").write_text("query,document,rank,click\ndesk,oak,1,0\ndesk,pine,2,1\n")
    (tmp_path / "facts.csv").write_text("document,feature.price\npine,45\noak,120\n")
    code, _, err = rankloop(
        "warm-up", tmp_path / "log.csv", "--features", tmp_path / "facts.csv", "--out", tmp_path / "model.json"
    )
    assert code == 0
    assert "rankloop models create --from" in err
    assert json.loads((tmp_path / "model.json").read_text())["features"] == ["price"]
    code, _, err = rankloop("warm-up", tmp_path / "log.csv")
    assert (code, "the log has no features" in err) == (2, True)


def test_nothing_is_written_that_no_service_would_take(rankloop, tmp_path):
    write_clicks(tmp_path / "old.parquet", old_log(100))
    (tmp_path / "twice.json").write_text('{"coef": [1, 2], "feature_names": ["a", "a"]}')
    for given, said in (
        (("warm-up", tmp_path / "old.parquet", "--name", "x y"), "name must be 1 to 64 letters"),
        (("warm-up", tmp_path / "old.parquet", "--start-pages", "-3"), "start_pages must be a number"),
        (("import", tmp_path / "twice.json"), "every feature needs a different name; 'a' appears twice"),
    ):
        code, _, err = rankloop(*given, "--out", tmp_path / "model.json")
        assert (code, said in err) == (2, True), err
        assert not (tmp_path / "model.json").exists()
