"""The study of regret on every collection that is at hand, and the page of the documentation that shows it."""
