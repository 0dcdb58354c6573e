"""In the reference, what a client's method returns is what the caller gets, not the conversation behind it.

An extension of Griffe, which reads the sources for mkdocstrings.
"""

from typing import Any

import griffe


class Played(griffe.Extension):
    """`-> Talk[Page]` is shown as `-> Page`."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Called for every function that is read."""
        returns = func.returns
        if isinstance(returns, griffe.ExprSubscript) and str(returns.left) == "Talk":
            func.returns = returns.slice
