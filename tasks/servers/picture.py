"""The dependency graph as a picture, and as a few lines of text.

    draw(graph, Path("data/graph/banking.png"))

Left out: interactive views; the graph's JSON opens in any graph tool (networkx node-link form).
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx

COLOURS = {True: "#9ecae1", False: "#fdae6b"}
"""Of tools that only read, and of tools that write."""


def draw(graph: nx.DiGraph, path: Path) -> None:
    """Writes a PNG: tools as nodes (blue reads, orange writes), explicit edges grey, implicit ones red. Tools without an
    edge stand in a row below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    lonely = sorted(nx.isolates(graph))
    joined = graph.subgraph(node for node in graph if node not in set(lonely))
    places = nx.kamada_kawai_layout(joined.to_undirected()) if len(joined) else {}
    for number, node in enumerate(lonely):
        places[node] = (-1 + 2 * (number + 0.5) / len(lonely), -1.15)
    side = max(8.0, 2.0 * len(graph) ** 0.5)
    figure = Figure(figsize=(side * 1.2, side), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_axis_off()
    for kind, colour, width in (("explicit", "#bbbbbb", 0.6), ("implicit", "#d62728", 1.4)):
        edges = [(u, v) for u, v, data in graph.edges(data=True) if data[kind]]
        nx.draw_networkx_edges(graph, places, edges, ax=axes, edge_color=colour, width=width, arrowsize=7, node_size=500)
    colours = [COLOURS[graph.nodes[node]["read_only"]] for node in graph]
    nx.draw_networkx_nodes(graph, places, ax=axes, node_color=colours, node_size=160, edgecolors="white")
    nx.draw_networkx_labels(graph, places, ax=axes, font_size=7)
    servers = sorted({data["server"] for _, data in graph.nodes(data=True)})
    axes.set_title(f"{', '.join(servers)}: what must run before what", fontsize=12)
    axes.legend(
        handles=[
            Line2D([], [], marker="o", linestyle="", color=COLOURS[True], label="reads"),
            Line2D([], [], marker="o", linestyle="", color=COLOURS[False], label="writes"),
            Line2D([], [], color="#bbbbbb", label="its result feeds a required input"),
            Line2D([], [], color="#d62728", label="it makes the other possible"),
        ],
        loc="lower right",
        fontsize=8,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)
