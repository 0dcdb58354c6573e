"""After the runs of a study of regret: fit what is missing of its skylines, measure, and keep what was found."""

from collections.abc import Callable, Sequence

from rankloop.studies.found import group_of
from rankloop.studies.places import collection_of
from rankloop.studies.records import Results
from rankloop.studies.regret import skyline
from rankloop.studies.regret.findings import Findings, Skyline, read_findings, write_findings
from rankloop.studies.regret.measuring import measure, skyline_online
from rankloop.studies.runner import Plan
from rankloop.studies.specification import Cell


def places_of(plan: Plan) -> list[Cell]:
    """A cell of the first grid for each collection and fold."""
    first = plan.study.grids[0].name
    return list({group_of(cell): cell for cell, _ in plan.cells if cell.grid == first}.values())


def find_regret(
    plan: Plan, results: Results, left_out: Sequence[str] = (), advance: Callable[[str], None] = lambda word: None
) -> Findings:
    """What the finished runs of a plan say about regret, also written into its folder."""
    known = read_findings(plan.folder)
    before = {(one.content, one.fold, one.page_size): one for one in known.skylines} if known else {}
    skylines = []
    for cell in places_of(plan):
        met = plan.opened[group_of(cell)]
        skylines.append(_skyline(cell, met.content_hash, before.get((met.content_hash, cell.fold, cell.page_size))))
        advance(cell.source.name)
    found = measure(results, skylines, plan.folder, left_out)
    write_findings(plan.folder, found)
    return found


def _skyline(cell: Cell, content: str, before: Skyline | None) -> Skyline:
    """Fitted, unless the folder has it already; S is for the number of impressions that was asked for."""
    if before is not None:
        ndcg, gradient = before.ndcg, before.gradient
    else:
        train = collection_of(cell).train
        weights, gradient = skyline.fit(train)
        ndcg = skyline.value_of(weights, train, cell.page_size)
    online = skyline_online(ndcg, cell.impressions)
    return Skyline(cell.source.name, cell.fold, content, cell.page_size, ndcg, online, gradient)
