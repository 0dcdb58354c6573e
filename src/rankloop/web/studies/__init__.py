"""The study viewer: `rankloop report DIR --serve` shows the studies of a folder in the design of the live pages."""

from rankloop.web.studies.folders import find_studies
from rankloop.web.studies.serving import create_viewer, serve_studies

__all__ = ["create_viewer", "find_studies", "serve_studies"]
