"""The client's former address; it lives in `rankloop.client`."""

from rankloop.client import AsyncClient, Client, Closed, Page, ServiceError

__all__ = ["AsyncClient", "Client", "Closed", "Page", "ServiceError"]
