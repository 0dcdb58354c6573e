"""Every file of the pages is in memory, with its address and its kind."""

import gzip

import pytest

from rankloop.web.assets import address_of, assets


def test_every_file_is_there_whole_and_packed():
    assert {"rankloop.css", "blocks.css", "icon.svg", "vendor/htmx-2.0.11.min.js"} <= set(assets())
    for asset in assets().values():
        assert asset.content == gzip.decompress(asset.zipped) != b""
        assert asset.media_type.startswith(("text/", "image/svg"))


def test_an_address_changes_with_the_content():
    assert address_of("rankloop.css") == f"/static/rankloop.css?{assets()['rankloop.css'].mark}"
    assert len({asset.mark for asset in assets().values()}) == len(assets())
    with pytest.raises(KeyError):
        address_of("nothing.css")
