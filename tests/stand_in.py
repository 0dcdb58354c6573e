"""A device that is none: what the GPU engine is asked for is computed by `simulate`, and written down."""

from rankloop import simulate


class StandIn:
    """Has device code for some methods; fails at batches of more runs than it has room for."""

    def __init__(self, methods=("ROLTR",)):
        self.methods = methods
        self.room = 1_000_000
        self.batches = []
        self.asked = 0
        self.before = lambda requests: None
        """Called at the beginning of a batch: may raise."""

    def why_not(self, request):
        self.asked += 1
        return None if request.learner.name in self.methods else f"{request.learner.name} has no device code"

    def simulate_on_device(self, requests, progress=None):
        self.batches.append(len(requests))
        self.before(requests)
        if len(requests) > self.room:
            raise MemoryError(f"no room for {len(requests)} runs")
        made, done = [], 0
        for one in requests:
            made.append(simulate(one.learner, one.user, one.data, one.impressions, one.seed, **one.settings))
            done += one.impressions
            if progress is not None:
                progress(done)
        return made
