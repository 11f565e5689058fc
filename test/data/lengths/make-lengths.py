"""Writes the arrays of this folder. Made with NumPy 2.4.6; scipy.sparse.save_npz writes the same members as rows.npz has.

The sparse matrices are made with SciPy 1.10.1, the edge lists with networkx 2.8.8. duckdb.parquet is written by DuckDB 1.5:
copy (select (20+10*sin(range))::int steps from range(1000)) to 'duckdb.parquet', and duckdb-lz4.parquet so with (compression lz4).
arrow-lists.parquet is written by parquet-wasm 0.8 (LZ4, WriterVersion.V2, row groups of 3) from a table of apache-arrow: events
[[1,2,3],[],[0,1,2,0,1,2,0,1,2,0,1,2],[1,null,3],[0,0,0,0,0,0,0]], hits [[[1,2],[]],[],null,[[3]],[[]]], active [true,false,true,true,false].
polars-lz4.arrow is written by nodejs-polars 0.26.1 (writeIPC, compression lz4): name a to e, steps 3, 0, 12, 3, 7, events so many ones.
arrow-stream.arrow is written by apache-arrow 21.2 (tableToIPC, stream): kind (a dictionary of x and y), steps, hits and active as above.
"""
import networkx as nx
import numpy as np
import scipy.sparse as sparse

lengths = np.array([3, 0, 12, 3, 7], dtype=np.int64)
np.save("int64.npy", lengths)
np.save("big-endian.npy", lengths.astype(">i2"))
np.save("float32-column.npy", lengths.astype(np.float32).reshape(-1, 1))
np.savez("one.npz", lengths.astype(np.uint8))
pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
np.savez_compressed("rows.npz", indices=np.zeros(25, np.int32), indptr=pointers, format=np.array(b"csr"), shape=np.array([5, 30]))
np.savez("several.npz", first=lengths, second=lengths + 1)

rows = np.repeat(np.arange(5), lengths)
columns = np.concatenate([np.arange(length) for length in lengths])
matrix = sparse.coo_matrix((np.ones(25), (rows, columns)), shape=(6, 12))
sparse.save_npz("coo.npz", matrix)
sparse.save_npz("csc.npz", matrix.tocsc())
sparse.save_npz("bsr.npz", matrix.tobsr(blocksize=(2, 4)))

graph = nx.gnp_random_graph(9, 0.3, seed=1, directed=True)
nx.write_edgelist(graph, "networkx-data.edgelist")
nx.write_edgelist(graph, "networkx-no-data.edgelist", data=False)
nx.set_edge_attributes(graph, {edge: {"name": f'it\'s "{edge[0]}"', "weight": 0.5} for edge in list(graph.edges)[::2]})
nx.write_edgelist(graph, "networkx-attributes.edgelist")
nx.set_edge_attributes(graph, 1.5, "weight")
nx.write_weighted_edgelist(graph, "networkx-weighted.edgelist")
