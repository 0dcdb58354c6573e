"""How many examples Hypothesis tries of a property: a number for a whole run, and in proportion fewer for `quick`."""

from typing import Any

from hypothesis import settings


def examples(number: int, **others: Any) -> settings:
    """Settings for a test that needs more, or fewer, than the hundred of a whole run."""
    usual = settings.default.max_examples
    return settings(max_examples=max(5, number * usual // 100), **others)
