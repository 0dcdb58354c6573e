"""The service from Python: `Client`, and `AsyncClient` for asyncio. All that an application needs."""

from rankloop.answers import Clicked, Closed, Page
from rankloop.client.clients import AsyncClient, Client
from rankloop.client.conversation import RefusedError, ServiceError

__all__ = ["AsyncClient", "Clicked", "Client", "Closed", "Page", "RefusedError", "ServiceError"]
