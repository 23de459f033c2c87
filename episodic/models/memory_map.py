"""The table of the map of memory: one row of packed points per workspace."""

from __future__ import annotations

from django.db import models

from memory.models import Workspace


class MemoryMap(models.Model):
    """The picture of a workspace's index at a moment.

    ``points`` are packed as ``episodic.map.points.POINT``: ids, places and numbers, no
    words. ``crews`` are the crews that points name by their number. ``indexed`` is how
    many entries the index held; above a limit the points are a sample of them.
    ``agreement`` is the share of near points whose entries are near by meaning too.
    """

    workspace = models.OneToOneField(Workspace, models.CASCADE, primary_key=True)
    computed_at = models.DateTimeField(null=True)
    model = models.CharField(max_length=120, blank=True)
    indexed = models.PositiveIntegerField(default=0)
    agreement = models.FloatField(default=0.0)
    crews = models.JSONField(default=list)
    points = models.BinaryField(default=b"")

    class Meta:
        db_table = "memory_maps"

    def __str__(self) -> str:
        return f"{self.workspace_id} {self.computed_at}"
