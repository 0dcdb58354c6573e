"""How good a ranking is: metrics by name, and how their values are averaged.

    ndcg@10   ndcg-linear@10   err@10   p@5   mrr   mrr@10   map   map(rel=2)

`names` has the grammar and the registry, `formulas` what is computed (compiled, for many metrics in one pass), `ndcg`
the paper's metric in plain functions, `averaging` the two conventions for queries with nothing relevant and the online
sum.
"""

from rankloop.metrics.averaging import ONLINE_DISCOUNT as ONLINE_DISCOUNT
from rankloop.metrics.averaging import NothingRelevant as NothingRelevant
from rankloop.metrics.averaging import mean_over_queries as mean_over_queries
from rankloop.metrics.averaging import online_performance as online_performance
from rankloop.metrics.formulas import grade_scale as grade_scale
from rankloop.metrics.formulas import value as value
from rankloop.metrics.names import Metric as Metric
from rankloop.metrics.names import metric as metric
from rankloop.metrics.names import named as named
from rankloop.metrics.ndcg import CUTOFF as CUTOFF
from rankloop.metrics.ndcg import MAX_GRADE as MAX_GRADE
from rankloop.metrics.ndcg import dcg as dcg
from rankloop.metrics.ndcg import discounts as discounts
from rankloop.metrics.ndcg import gains as gains
from rankloop.metrics.ndcg import ideal_dcg as ideal_dcg
from rankloop.metrics.ndcg import ndcg as ndcg
