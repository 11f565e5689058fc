import gzip, importlib.util, json
import numpy as np, pandas as pd, scipy.io, scipy.sparse as sparse

random = np.random.default_rng(7)
lengths = random.geometric(0.05, 500)
lengths[::17] = 0
found = []

def wrote(file, expected=lengths, **columns):
    found.append(dict(file=file, expected=expected if isinstance(expected, str) else [int(one) for one in expected], columns=columns))

for kind in "i2 i4 i8 u1 u2 u4 u8 f4 f8 >i4 >u8 >f8".split():
    small = lengths % 200 if kind == "u1" else lengths
    np.save(f"array-{kind}.npy", small.astype(kind))
    wrote(f"array-{kind}.npy", small)
np.save("booleans.npy", lengths > 10)
wrote("booleans.npy", lengths > 10)
np.save("row.npy", lengths.reshape(1, -1))
wrote("row.npy")
np.save("fortran.npy", np.asfortranarray(lengths.reshape(-1, 1)))
wrote("fortran.npy")
np.save("strided.npy", np.stack([lengths, -lengths])[0])
wrote("strided.npy")
for version in [(1, 0), (2, 0), (3, 0)]:
    with open(f"version-{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, lengths, version)
    wrote(f"version-{version[0]}.npy")
np.save("half.npy", lengths.astype("f2"))
wrote("half.npy", "the type \"'<f2'\" is not one of")
np.save("square.npy", lengths.reshape(25, 20))
wrote("square.npy", "the shape (25, 20)")
np.save("objects.npy", np.array([[1], [1, 2]], dtype=object), allow_pickle=True)
wrote("objects.npy", "is not one of b1, i1")
with gzip.open("packed.npy.gz", "wb") as file:
    np.save(file, lengths)
wrote("packed.npy.gz")
np.savez("one.npz", lengths)
wrote("one.npz")
np.savez_compressed("named.npz", lengths=lengths, other=lengths + 1)
wrote("named.npz")
wrote("named.npz", lengths + 1, length="other")
# A ragged array is stored as its values and the start of each list, under the names of Awkward Array's buffers
# (ak.to_buffers). In lists of lists, the outer lists are the units.
offsets = np.concatenate([[0], np.cumsum(lengths)])
np.savez("ragged.npz", content=np.arange(offsets[-1]), offsets=offsets)
wrote("ragged.npz")
np.savez("awkward.npz", **{"node0-offsets": offsets, "node1-offsets": 2 * np.arange(offsets[-1] + 1), "node2-data": np.arange(2 * offsets[-1])})
wrote("awkward.npz")
np.savetxt("text.txt", lengths, fmt="%d")
wrote("text.txt")
np.savetxt("text.csv", np.stack([np.arange(500), lengths], 1), fmt="%d", delimiter=",", header="row,length", comments="")
wrote("text.csv")

matrix = sparse.random(300, 200, 0.05, random_state=7, format="csr")
matrix.data[:] = 1 + np.arange(matrix.nnz) % 5
rows = np.diff(matrix.indptr)
sparse.save_npz("csr.npz", matrix)
wrote("csr.npz", rows)
sparse.save_npz("csr-stored.npz", matrix, compressed=False)
wrote("csr-stored.npz", rows)
sparse.save_npz("csc.npz", matrix.tocsc())
wrote("csc.npz", np.diff(matrix.tocsc().indptr))
blocks = matrix.tobsr(blocksize=(2, 2))
sparse.save_npz("bsr.npz", blocks)
wrote("bsr.npz", np.diff(blocks.indptr))
for kind in ("coo", "dia"):
    sparse.save_npz(f"{kind}.npz", matrix.asformat(kind))
    wrote(f"{kind}.npz", "tocsr()")
for field in ("real", "integer", "pattern"):
    scipy.io.mmwrite(f"{field}.mtx", matrix.astype(int if field == "integer" else float), field=field)
    wrote(f"{field}.mtx", rows)
square = matrix[:200] + matrix[:200].T
scipy.io.mmwrite("symmetric.mtx", square, symmetry="symmetric")
wrote("symmetric.mtx", np.diff(square.tocsr().indptr))
dense = matrix.toarray()[:5, :40]
scipy.io.mmwrite("dense.mtx", dense)
wrote("dense.mtx", np.count_nonzero(dense, axis=1))

table = pd.DataFrame(dict(name=[f'unit "{at}", {at % 3}' for at in range(500)], length=lengths, weight=random.random(500)))
table.to_csv("index.csv")
wrote("index.csv", length="length")
table[["length"]].to_csv("plain.csv", index=False)
wrote("plain.csv")
table.length.to_csv("series.csv", index=False, header=False)
wrote("series.csv")
table.to_csv("named.tsv", sep="\t", index=False)
wrote("named.tsv", length="length")
table.to_csv("semicolon.csv", sep=";", decimal=",", index=False)
wrote("semicolon.csv", length="length", delimiter="semicolon")
table.to_csv("quoted.csv.gz", quoting=1, lineterminator="\r\n", index=False) if hasattr(pd.DataFrame, "map") else table.to_csv(
    "quoted.csv.gz", quoting=1, line_terminator="\r\n", index=False)
wrote("quoted.csv.gz", length="length")
table.to_csv("utf8.csv", encoding="utf-8-sig", index=False)
wrote("utf8.csv", length="length")
# Pandas stores a column with a gap as floats, such as 3.0.
table.length.astype(float).to_csv("floats.csv", index=False)
wrote("floats.csv")
gaps = table[["length"]].astype(float)
gaps.loc[3, "length"] = np.nan
gaps.assign(x=1).to_csv("gaps.csv", index=False)
wrote("gaps.csv", "line 5, column 1: the field is empty; expected a length", length="length")
counts = table.length.value_counts().rename_axis("length").rename("count")
counts.to_csv("counts.csv")
wrote("counts.csv", np.sort(lengths))
graph = pd.DataFrame(dict(source=np.repeat(np.arange(300), rows), target=matrix.indices))
graph.to_csv("edges.csv", index=False)
degrees = pd.concat([graph.source, graph.target]).drop_duplicates().sort_values()
wrote("edges.csv", [rows[one] if one < 300 else 0 for one in degrees])
# Debian packages neither of the two libraries with which pandas writes Parquet.
if importlib.util.find_spec("pyarrow") or importlib.util.find_spec("fastparquet"):
    table.to_parquet("table.parquet")
    wrote("table.parquet")
print(json.dumps(found))
