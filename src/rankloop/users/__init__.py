"""Who clicks: simulated people. One file per kind; a kind is a settings class, and tables of what it does.

The people of the literature are made by name, and take their tables from the grades of the collection they meet:

>>> noisy()
PositionBased(attraction='noisy', name='noisy')
>>> perfect(grades=3).attraction
(0.0, 0.5, 1.0)
>>> cascade("navigational", stop="after-click").name
'navigational cascade (after-click)'

A kind of one's own is known to study files once it is in `USERS`:

>>> list(USERS)
['position_based', 'cascade', 'dynamic_bayesian_network', 'click_chain', 'user_browsing', 'trust', 'mixture', 'drift']
>>> from_settings({"kind": "cascade", "attraction": "perfect", "stop": "anywhere"}).stopping
'perfect'
"""

from rankloop.users.attraction import ATTRACTIONS, ByAttribute, ByGain
from rankloop.users.bayesian import DynamicBayesianNetwork, dbn
from rankloop.users.browsing import UserBrowsing, user_browsing
from rankloop.users.cascades import Cascade, cascade
from rankloop.users.click_chains import ClickChain, click_chain
from rankloop.users.contract import USERS, Shown, User
from rankloop.users.drifts import Drift, drift
from rankloop.users.mixtures import Mixture, mixture
from rankloop.users.position_based import PositionBased, by_name, navigational, near_random, noisy, perfect
from rankloop.users.registry import from_settings, person, require_user, to_settings
from rankloop.users.stopping import STOPS
from rankloop.users.trusting import Trust, trust

for _kind in (PositionBased, Cascade, DynamicBayesianNetwork, ClickChain, UserBrowsing, Trust, Mixture, Drift):
    USERS.add(_kind)

__all__ = [
    "ATTRACTIONS",
    "STOPS",
    "USERS",
    "ByAttribute",
    "ByGain",
    "Cascade",
    "ClickChain",
    "Drift",
    "DynamicBayesianNetwork",
    "Mixture",
    "PositionBased",
    "Shown",
    "Trust",
    "User",
    "UserBrowsing",
    "by_name",
    "cascade",
    "click_chain",
    "dbn",
    "drift",
    "from_settings",
    "mixture",
    "navigational",
    "near_random",
    "noisy",
    "perfect",
    "person",
    "require_user",
    "to_settings",
    "trust",
    "user_browsing",
]
