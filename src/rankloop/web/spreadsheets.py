"""Tables to take away, from a page: CSV that a browser saves."""

from starlette.responses import Response


def csv_file(text: str, name: str) -> Response:
    """CSV as a file that the browser saves under a name."""
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)
