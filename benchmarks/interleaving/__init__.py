"""How many pages it takes to tell two orders apart: interleaved, or in an A/B test, on the same simulated people."""
