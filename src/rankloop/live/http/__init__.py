"""The service over HTTP: JSON or MessagePack in and out, an OpenAPI document, and errors that say what to fix."""

from rankloop.live.http.app import create_app

__all__ = ["create_app"]
