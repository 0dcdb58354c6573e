"""What the documentation site needs besides its pages: formulas, and the page of all commands."""
