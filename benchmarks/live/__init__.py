"""How fast the service is: an open-loop generator, scenarios, and the page of results (`make bench-live`)."""
