"""Routes between rooms, over ways that were walked and should lead there again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import networkx as nx

    from managers.map_ways import Way, Ways

    Graph: TypeAlias = nx.DiGraph[int]


class Routes:
    """Answers from a graph that is made when it is first needed, and then kept up to date."""

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._graph: Graph | None = None
        self._distances: dict[int, dict[int, int]] = {}

    def refresh(self, room_id: int) -> None:
        """Take in that the ways out of a room have changed."""
        self._distances.clear()
        if self._graph is not None:
            self._graph.remove_edges_from(list(self._graph.out_edges([room_id])))
            self._add(self._graph, room_id)

    def reset(self) -> None:
        """Take in that any way may have changed."""
        self._distances.clear()
        self._graph = None

    def distances(self, from_id: int) -> dict[int, int]:
        """Room id -> steps, for all rooms that can be reached, the nearest first."""
        if from_id not in self._distances:
            import networkx as nx

            graph = self._made()
            known = from_id in graph
            self._distances[from_id] = (
                dict(nx.single_source_shortest_path_length(graph, from_id))
                if known
                else {from_id: 0}
            )
        return self._distances[from_id]

    def nearest(self, from_id: int) -> Iterator[int]:
        """The rooms that can be reached, the nearest first, found as they are asked for."""
        import networkx as nx

        graph = self._made()
        if from_id in graph:
            yield from (room_id for _, room_id in nx.bfs_edges(graph, from_id))

    def route(self, from_id: int, to_id: int) -> tuple[Way, ...] | None:
        """The shortest way there; None when no way is known."""
        import networkx as nx

        graph = self._made()
        if from_id == to_id:
            return ()
        if from_id not in graph or to_id not in graph or not nx.has_path(graph, from_id, to_id):
            return None
        rooms = nx.shortest_path(graph, from_id, to_id)
        return tuple(graph.edges[step]["way"] for step in pairwise(rooms))

    def _made(self) -> Graph:
        if self._graph is None:
            import networkx as nx  # takes half a second, which start-up can do without

            self._graph = nx.DiGraph()
            for room_id in {way.room_id: None for way in self._ways.all()}:
                self._add(self._graph, room_id)
        return self._graph

    def _add(self, graph: Graph, room_id: int) -> None:
        """The ways out of a room; of several to the same room the surest counts."""
        ways = [way for way in self._ways.of(room_id).values() if way.is_trusted]
        for way in sorted(ways, key=lambda way: (way.earlier, not way.moves)):
            if way.to is not None and not graph.has_edge(room_id, way.to):
                graph.add_edge(room_id, way.to, way=way)
