"""How many pages it takes to tell two orders apart: by interleaving, and by an A/B test, on the same simulated people."""
