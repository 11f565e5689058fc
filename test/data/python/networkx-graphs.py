import json, networkx as nx

graphs = {
    "sparse": nx.gnm_random_graph(400, 900, seed=1),
    "power": nx.barabasi_albert_graph(300, 3, seed=2),
    "directed": nx.gnp_random_graph(60, 0.2, seed=3, directed=True),
    "named": nx.relabel_nodes(nx.karate_club_graph(), lambda vertex: f"<{vertex}> & \"co\""),
}
graphs["sparse"].add_edge(5, 5)
expected = {}
for name, graph in graphs.items():
    nx.write_graphml(graph, f"{name}.graphml")
    plain = graph if name != "named" else nx.convert_node_labels_to_integers(graph)
    nx.write_adjlist(plain, f"{name}.adjlist")
    expected[name] = [len(graph.adj[vertex]) for vertex in graph]
    if not graph.is_directed():
        graph = nx.convert_node_labels_to_integers(graph)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        with open(f"{name}.graph", "w") as file:
            file.write(f"{len(graph)} {graph.size()}\n")
            for vertex in graph:
                file.write(" ".join(str(one + 1) for one in graph.adj[vertex]) + "\n")
        expected[f"{name} without loops"] = [graph.degree[vertex] for vertex in graph]
print(json.dumps(expected))
