"""Writes the arrays of this folder. Made with NumPy 2.4.6; scipy.sparse.save_npz writes the same members as rows.npz has."""
import numpy as np

lengths = np.array([3, 0, 12, 3, 7], dtype=np.int64)
np.save("int64.npy", lengths)
np.save("big-endian.npy", lengths.astype(">i2"))
np.save("float32-column.npy", lengths.astype(np.float32).reshape(-1, 1))
np.savez("one.npz", lengths.astype(np.uint8))
pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
np.savez_compressed("rows.npz", indices=np.zeros(25, np.int32), indptr=pointers, format=np.array(b"csr"), shape=np.array([5, 30]))
np.savez("several.npz", first=lengths, second=lengths + 1)
