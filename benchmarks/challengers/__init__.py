"""What a challenger costs the learner's thread, page by page."""
