"""Addresses as an attacker writes them, sent as they are: a client library would tidy them up first."""

import http.client
import shutil
from urllib.parse import urlsplit

import pytest
from study_viewing import viewer
from tests.patience import PATIENCE

pytestmark = [pytest.mark.xdist_group("studies"), pytest.mark.process]
SECRET = "the secret of this machine"
ADDRESSES = [
    "/..", "/../secret.txt", "/study/..", "/study/../secret.txt", "/study/%2e%2e", "/study/..%2fsecret.txt",
    "/study/%2e%2e%2fother", "/study/../other", "/study/small/files/../../secret.txt",
    "/study/small/files/..%2f..%2fsecret.txt", "/study/small/files/%2e%2e%2f%2e%2e%2fsecret.txt",
    "/study/small/files/%252e%252e%252fsecret.txt", "/study/small/files/..%5c..%5csecret.txt",
    "/study/small/files/secret.txt", "/study/small/files//etc/passwd", "/study/small/files/%2fetc%2fpasswd",
    "/study/small/files/results.parquet%00", "/study/small/files/tables.tex", "/study/small/files/",
    "/study/small/figures/..%2f..%2f..%2fsecret.txt", "/study/small/figures/../../secret.svg",
    "/study/small/figures/secret.svg", "/study/small/figures/..%2f..%2f..%2fsecret.svg", "/study/small/runs/x",
    "/study/small/tables/..%2f1.csv", "/study/small/tables/-1.csv", "/study/small/tables/1e9.csv",
    "/study/small/tables/%d9%a1.csv%20", "/study/other", "/study/linked", "/study//etc", "/study/%ff",
    "/static/../site.py", "/static/..%2fsite.py", "/static/%2fetc%2fpasswd", "//etc/passwd",
]  # fmt: skip


@pytest.fixture(scope="module")
def exposed(finished, tmp_path_factory):
    """A viewer of a folder with secrets beside it, in it, and behind links in it."""
    above = tmp_path_factory.mktemp("exposed")
    (above / "secret.txt").write_text(SECRET)
    (above / "secret.svg").write_text(SECRET)
    shutil.copytree(finished, above / "other")
    study = above / "results" / "small"
    shutil.copytree(finished, study)
    (above / "results" / "linked").symlink_to(above / "other")
    (study / "tables.tex").unlink()
    (study / "tables.tex").symlink_to(above / "secret.txt")
    (study / "figures" / "secret.svg").symlink_to(above / "secret.svg")
    (study / "secret.txt").write_text(SECRET)
    with viewer(above / "results") as address:
        yield address


def test_no_address_leads_out_of_the_studies(exposed):
    assert ask(exposed, "/study/small")[0] == 200
    for address in ADDRESSES:
        status, content = ask(exposed, address)
        assert status == 404, address
        assert SECRET.encode() not in content, address
        assert b"root:" not in content, address


def ask(server, address):
    connection = http.client.HTTPConnection(urlsplit(server).netloc, timeout=PATIENCE)
    connection.putrequest("GET", address, skip_host=False)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content
