"""The service from Python: `Client`, and `AsyncClient` for asyncio. All that an application needs."""

from rankloop.client.clients import AsyncClient, Client, Closed, Page, ServiceError

__all__ = ["AsyncClient", "Client", "Closed", "Page", "ServiceError"]
