"""Sums of jagged rows in Triton with the configurations of a Lockstep export: the worked example of ../README.md.

values holds the rows one after another, and row i is values[offsets[i]:offsets[i + 1]].
"""

import triton
import triton.language as tl

# lockstep export RUN --format triton -o jagged_configs.py
from jagged_configs import UNITS_ARGUMENT, configs, grid, prune_configs_by


@triton.autotune(configs=configs, key=[UNITS_ARGUMENT], prune_configs_by=prune_configs_by)
@triton.jit
def jagged_sum(
    values,
    offsets,
    sums,
    units,
    THREADS_PER_UNIT: tl.constexpr,
    UNITS_PER_THREAD: tl.constexpr,
    BLOCK_UNITS: tl.constexpr,
    GRID_BLOCKS: tl.constexpr,
):
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    columns = tl.arange(0, THREADS_PER_UNIT)
    # Rounds of BLOCK_UNITS rows. UNITS_PER_THREAD fixes the number of programs in the grid, or GRID_BLOCKS does.
    for first in range(program * BLOCK_UNITS, units, programs * BLOCK_UNITS):
        rows = first + tl.arange(0, BLOCK_UNITS)
        begins = tl.load(offsets + rows, mask=rows < units, other=0)
        ends = tl.load(offsets + rows + 1, mask=rows < units, other=0)
        total = tl.zeros((BLOCK_UNITS, THREADS_PER_UNIT), dtype=tl.float32)
        # Every row of the program takes the steps of the longest: this is the loss that Lockstep predicts.
        for step in range(0, tl.max(ends - begins, 0), THREADS_PER_UNIT):
            at = begins[:, None] + step + columns[None, :]
            total += tl.load(values + at, mask=at < ends[:, None], other=0.0)
        tl.store(sums + rows, tl.sum(total, 1), mask=rows < units)


def row_sums(values, offsets):
    """Sums of the rows of a jagged tensor, such as torch.nested's values() and offsets()."""
    units = offsets.shape[0] - 1
    sums = values.new_empty(units)
    jagged_sum[grid](values, offsets, sums, units=units)
    return sums
