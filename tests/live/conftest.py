"""What the live tests share: patience, and a service that does not let them wait."""

from tests.patience import A_SERVICE, be_brisk, be_patient

# A service in this process gives up on its store no sooner than the tests do, except in tests about giving up.
be_patient(*A_SERVICE)
be_brisk()
