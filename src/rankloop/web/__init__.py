"""The pages of the live service, and the demo that shows it at work."""
