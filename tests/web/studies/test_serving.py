"""The viewer refuses what it must not show before it listens anywhere."""

import pytest
from starlette.testclient import TestClient

from rankloop.errors import DataError, SettingsError
from rankloop.web.studies.serving import create_viewer, serve_studies


def never(address):
    pytest.fail(f"it listens at {address}")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_reports_are_for_this_machine_only(tmp_path, host):
    with pytest.raises(SettingsError, match=f"on this machine only, not on {host}"):
        serve_studies(tmp_path, host=host, port=0, ready=never)


def test_what_is_no_folder_is_named_before_anything_listens(tmp_path):
    with pytest.raises(DataError, match="no folder"):
        serve_studies(tmp_path / "nowhere", host="127.0.0.1", port=0, ready=never)


def test_a_viewer_answers_under_local_names_and_knows_only_what_is_there(tmp_path):
    viewer = create_viewer(tmp_path)
    local = TestClient(viewer, base_url="http://localhost")
    assert local.get("/").status_code == 200
    assert local.get("/study/any").status_code == 404
    assert TestClient(viewer, base_url="http://reports.example").get("/").status_code == 403
