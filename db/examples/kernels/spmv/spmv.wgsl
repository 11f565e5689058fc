// y = A·x, A in compressed sparse rows: five ways to share the rows among threads. spmv.kernel.json launches it.
enable subgroups;
diagnostic(off, subgroup_uniformity);

@group(0) @binding(0) var<storage, read> rowStarts: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
// The rows in the order in which a launch takes them.
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<storage, read_write> yBits: array<atomic<u32>>;
@group(0) @binding(6) var<uniform> rows: u32;
@group(0) @binding(7) var<uniform> gridBlocks: u32;
// A launch for one class of rows takes `launchRows` of them from `firstRow` on, with `launchThreadsPerRow` threads
// each.
@group(0) @binding(8) var<uniform> firstRow: u32;
@group(0) @binding(9) var<uniform> launchRows: u32;
@group(0) @binding(10) var<uniform> launchThreadsPerRow: u32;

override BLOCK_THREADS: u32 = 64u;
override THREADS_PER_ROW: u32 = 1u;

@compute @workgroup_size(BLOCK_THREADS)
fn threadPerRow(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  for (var row = block.x * BLOCK_THREADS + thread; row < rows; row += gridBlocks * BLOCK_THREADS) {
    var sum = 0.0;
    let end = rowStarts[row + 1u];
    for (var entry = rowStarts[row]; entry < end; entry++) {
      sum += values[entry] * x[columns[entry]];
    }
    y[row] = sum;
  }
}

/// Adds a part of a row to its result, which is 0 before the launch.
fn addTo(row: u32, value: f32) {
  var seen = atomicLoad(&yBits[row]);
  loop {
    let exchanged = atomicCompareExchangeWeak(&yBits[row], seen, bitcast<u32>(bitcast<f32>(seen) + value));
    if (exchanged.exchanged) { break; }
    seen = exchanged.old_value;
  }
}

/// Processes rows with `u` threads each. A subgroup sums the values of its threads; if a row has several subgroups,
/// they add to its result. There are no barriers, since a thread may have any number of rows, and subgroups any width.
fn severalThreadsPerRow(thread: u32, width: u32, u: u32, ordered: bool) {
  let rank = thread % u;
  let slots = gridBlocks * (BLOCK_THREADS / u);
  for (var position = thread / u; position < launchRows; position += slots) {
    var row = position;
    if (ordered) { row = order[firstRow + position]; }
    var sum = 0.0;
    let end = rowStarts[row + 1u];
    for (var entry = rowStarts[row] + rank; entry < end; entry += u) {
      sum += values[entry] * x[columns[entry]];
    }
    for (var distance = 1u; distance < min(u, width); distance *= 2u) {
      sum += subgroupShuffleXor(sum, distance);
    }
    if (u <= width) {
      if (rank == 0u) { atomicStore(&yBits[row], bitcast<u32>(sum)); }
    } else if (rank % width == 0u) {
      addTo(row, sum);
    }
  }
}

@compute @workgroup_size(BLOCK_THREADS)
fn threadsPerRow(
  @builtin(workgroup_id) block: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_size) width: u32,
) {
  severalThreadsPerRow(block.x * BLOCK_THREADS + thread, width, THREADS_PER_ROW, false);
}

/// One launch for each class of row lengths.
@compute @workgroup_size(BLOCK_THREADS)
fn classOfRows(
  @builtin(workgroup_id) block: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_size) width: u32,
) {
  severalThreadsPerRow(block.x * BLOCK_THREADS + thread, width, launchThreadsPerRow, true);
}

/// Gives threads equally many entries plus row ends (Merrill and Garland, "Merge-based parallel sparse matrix-vector
/// multiplication", SC 2016). A search finds the start of a thread's share, and the parts of cut rows are summed.
@compute @workgroup_size(BLOCK_THREADS)
fn mergePath(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let entries = rowStarts[rows];
  let threads = gridBlocks * BLOCK_THREADS;
  let share = (rows + entries + threads - 1u) / threads;
  let begin = min((block.x * BLOCK_THREADS + thread) * share, rows + entries);
  let end = min(begin + share, rows + entries);
  var low = select(0u, begin - entries, begin > entries);
  var high = min(begin, rows);
  while (low < high) {
    let middle = (low + high) / 2u;
    if (rowStarts[middle + 1u] < begin - middle) { low = middle + 1u; } else { high = middle; }
  }
  var row = low;
  var entry = begin - low;
  let headRow = row;
  var head = 0.0;
  var sum = 0.0;
  var rowEnd = rowStarts[min(row + 1u, rows)];
  for (var step = begin; step < end; step++) {
    if (entry < rowEnd) {
      sum += values[entry] * x[columns[entry]];
      entry++;
    } else {
      if (row == headRow) { head = sum; } else { atomicStore(&yBits[row], bitcast<u32>(sum)); }
      sum = 0.0;
      row++;
      rowEnd = rowStarts[min(row + 1u, rows)];
    }
  }
  if (head != 0.0) { addTo(headRow, head); }
  if (sum != 0.0) { addTo(row, sum); }
}
