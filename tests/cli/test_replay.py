"""`rankloop replay` as people type it: words, JSON and a picture."""

import json

from rankloop.cli.replay import print_refusals
from rankloop.logs.replay.estimating import Value
from rankloop.offpolicy import Estimate


def test_a_replay_is_told_in_words_in_json_and_as_a_picture(made, rankloop, monkeypatch):
    monkeypatch.chdir(made)
    code, out, _ = rankloop("replay", "file", "--picture", "picture.svg", "--minimum-effective", "2")
    assert code == 0
    assert "the weights equal those of the live model, bit for bit" in out
    assert "clicks per page on 6 impressions" in out
    assert (made / "picture.svg").read_text().startswith("<?xml")
    (made / "picture.svg").unlink()
    code, out, err = rankloop("replay", "log.db", "--learner", "PDGD", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["settings"]["learner"]["learner"] == "PDGD"
    reasons = [value["estimate"]["reason"] for value in found["evaluation"]["values"]]
    assert all("at least 100 needed" in reason for reason in reasons)


def test_a_reason_that_several_estimates_share_is_printed_once(capsys):
    def refused(policy, method):
        return Value(policy, "item-position", method, Estimate("x", None, None, None, None, 5.0, 40, "too little", 1.0))

    print_refusals([refused("live", "plain"), refused("live", "clipped"), refused("replayed", "plain")])
    assert capsys.readouterr().err == "refused: live, item-position; replayed, item-position: too little\n"
    print_refusals([refused("live", "plain")], "It cannot be estimated as usual: too little.")
    assert capsys.readouterr().err == ""  # the verdict on top has said it


def test_reasons_that_differ_in_figures_only_are_printed_once(capsys):
    def refused(policy, figure):
        reason = f"only {figure} of 40 impressions' worth: log more"
        return Value(policy, "item-position", "plain", Estimate("x", None, None, None, None, 5.0, 40, reason, 1.0))

    print_refusals([refused("live", 7), refused("replayed", 9)])
    told = "refused: live, item-position; replayed, item-position: only 7 of 40 impressions' worth: log more\n"
    assert capsys.readouterr().err == told
