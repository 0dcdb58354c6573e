"""Synthetic worlds in the shape of published collections: what they are (`world`), made of (`features`), laid out as (`plans`)."""

from rankloop.data.worlds.world import WORLDS, World

__all__ = ["WORLDS", "World"]
