"""Operations of triton.language on NumPy arrays. An access outside an array is ignored if masked, and otherwise fails."""

import numpy

constexpr = object
float32 = numpy.float32
# The number of the current program, and the number of all programs.
current = (0, 1)


class Pointer:
    def __init__(self, array, at=0):
        self.array, self.at = array, at

    def __add__(self, offset):
        return Pointer(self.array, self.at + offset)


def program_id(axis):
    assert axis == 0
    return current[0]


def num_programs(axis):
    assert axis == 0
    return current[1]


def arange(start, end):
    assert (end - start) & (end - start - 1) == 0, "Triton's ranges are powers of two"
    return numpy.arange(start, end)


def zeros(shape, dtype):
    return numpy.zeros(shape, dtype)


def load(pointer, mask, other):
    at, mask = numpy.broadcast_arrays(pointer.at, mask)
    found = numpy.full(at.shape, other, pointer.array.dtype)
    assert (at[mask] >= 0).all() and (at[mask] < len(pointer.array)).all(), "a load outside its array"
    found[mask] = pointer.array[at[mask]]
    return found


def store(pointer, value, mask):
    at = numpy.broadcast_to(pointer.at, mask.shape)
    assert (at[mask] >= 0).all() and (at[mask] < len(pointer.array)).all(), "a store outside its array"
    assert numpy.isnan(pointer.array[at[mask]]).all(), "a row is summed twice"
    pointer.array[at[mask]] = value[mask]


def max(value, axis):
    return int(numpy.max(value, axis))


def sum(value, axis):
    return numpy.sum(value, axis)
