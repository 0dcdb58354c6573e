"""Synthetic worlds in the shape of published collections: how they are drawn, their features, their feature plans."""

from rankloop.data.worlds.world import WORLDS, World

__all__ = ["WORLDS", "World"]
