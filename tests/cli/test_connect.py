"""`rankloop connect`: files with the requests that connect an engine."""

import json


def test_the_requests_are_written_in_the_order_in_which_they_are_sent(rankloop, tmp_path):
    code, out, _ = rankloop(
        "connect", "opensearch", "--model", "shop", "--feature", "_score", "--feature", "price", "--id-field", "sku",
        "--out", tmp_path / "made",
    )  # fmt: skip
    assert code == 0
    files = sorted((tmp_path / "made").iterdir())
    assert [line.split(": ")[0] for line in out.replace("\n ", " ").splitlines()] == [str(file) for file in files]
    assert len(files) == 7
    assert json.loads(files[0].read_text())["body"]["features"] == ["_score", "price"]


def test_the_model_that_was_written_can_be_made_and_ranks_by_the_engines_score(rankloop, tmp_path):
    import msgspec

    from rankloop.live.settings import ModelSettings

    code, _, err = rankloop(
        "connect", "opensearch", "--feature", "bm25=_score", "--feature", "price", "--out", tmp_path
    )
    assert code == 0, err
    body = json.loads((tmp_path / "1-rankloop-model.json").read_text())["body"]
    assert msgspec.convert(body, ModelSettings).start.feature == "bm25"


def test_a_mistake_is_a_sentence(rankloop, tmp_path):
    code, _, err = rankloop("connect", "solr", "--feature", "price", "--out", tmp_path / "made")
    assert code == 2
    assert "the engine is opensearch or elasticsearch; got 'solr'" in err
    assert not (tmp_path / "made").exists()
    taken = tmp_path / "taken"
    taken.write_text("")
    code, _, err = rankloop("connect", "opensearch", "--feature", "price", "--out", taken)
    assert code == 2
    assert "is a file; give a folder" in err


def test_what_the_pipeline_does_not_send_is_said_beside_the_files(rankloop, tmp_path):
    code, _, err = rankloop("connect", "opensearch", "--feature", "price", "--feature", "t=match:t", "--out", tmp_path)
    assert code == 0
    assert "the pipeline does not send t:" in err
    assert "give --query-path" in err
