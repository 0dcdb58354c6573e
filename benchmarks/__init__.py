"""Measurements that are not part of the product."""

import subprocess
from pathlib import Path


def commit() -> str:
    """Of the sources that are measured, for the figures that are written down."""
    words = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parent, check=False).stdout.strip()
