"""The dashboard of a live service: what its models learn, whether it helps, and the brakes."""

from rankloop.web.dashboard.pages import add_dashboard

__all__ = ["add_dashboard"]
