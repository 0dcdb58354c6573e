import httpx
import pytest
from tests.patience import PATIENCE

from .serving import Serving


@pytest.mark.process
@pytest.mark.slow
def test_a_service_lives_ends_and_lives_again_on_the_same_log(tmp_path):
    with Serving(tmp_path) as service:
        made = httpx.post(f"{service.url}/v1/models", json={"name": "shop", "features": 2}, timeout=PATIENCE)
        assert made.status_code == 201
        assert service.kill() == -9
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{service.url}/readyz")
        service.start()
        assert [model["name"] for model in httpx.get(f"{service.url}/v1/models").json()["models"]] == ["shop"]
        assert service.stop() in (0, -15)  # uvicorn hands the signal on once it has ended in order
        assert "Traceback" not in service.output
