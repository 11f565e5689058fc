import type { Device } from '../../../../src-workers/domain/device.ts';
import { ok } from '../../../../src-workers/domain/result.ts';
import { AGREEMENT_FRACTION } from '../../../../src-workers/sweep/ties.ts';
import type { RankRow } from '../../../contract/api.ts';
import { choiceTable, fixedBlocks, type ChoiceDesign, type ChoiceTable, type Ratios } from '../choice-table.ts';
import { gpuDesign, narrowTo } from '../code-format.ts';
import { head, implementationName, type CodeSource } from '../code.ts';
import type { Exporter } from '../exporter.ts';
import { comment, counted, joined, percent, whole } from '../text.ts';

export const choice: Exporter = {
  id: 'choice',
  label: 'Launch choice, C++',
  text: 'Chooses a launch by lengths at run time',
  words: 'cuda hip header table policy dispatch heuristic',
  about: 'code',
  rows: false,
  gpus: true,
  async write(job) {
    const { context, view, base } = job;
    const narrow = narrowTo((kind) => kind !== 'mixed', 'an order other than mixed');
    const gpu = await gpuDesign(job, { name: 'A choice between launches', narrow });
    if (!gpu.ok) return gpu;
    const { device, row, source, note } = gpu.value;
    const table = await choiceTable(context.pool, view, device, row);
    if (!table.ok) return table;
    const text = choiceHeader(source, row, device, table.value);
    return ok({
      fileName: `${base}.choice.hpp`,
      mediaType: 'text/plain',
      parts: joined([text]),
      ...(note && { note }),
    });
  },
};

/** ln(ns) of a design that cannot run: larger than for any other design, but finite, so that interpolation works. */
const CANNOT_RUN = '1e30f';

const DESIGNS_PER_LINE = 6;

/** Writes 0 for the number of blocks or the units per slot, whichever follows from the other. */
function designRow(design: ChoiceDesign, device: Device): string {
  const { threadsPerUnit, blockThreads, launch } = design;
  const rounds = launch.kind === 'units-per-thread' ? launch.value : 0;
  return `{${threadsPerUnit}u, ${blockThreads}u, ${rounds}u, ${fixedBlocks(design, device)}u}`;
}

function heldOutText({ laws, chosen, fixed }: ChoiceTable['heldOut']): string {
  const beyond = (ratio: number): string => percent(ratio - 1).replace('\u00a0', ' ');
  const some = ({ laws: own }: Ratios): string => (own === laws ? '' : ` (over the ${own} laws that allow it)`);
  const always =
    fixed.laws === 0
      ? ''
      : ` The launch for the study, used for all laws, takes ${beyond(fixed.mean)} more on average and ${beyond(fixed.worst)} more at worst${some(fixed)}.`;
  return chosen.laws === 0
    ? 'The table was not tested with other laws, because no launch that it chooses for them can run.'
    : `For ${laws} other laws of this kind, the chosen launch is predicted to take ${beyond(chosen.mean)} more than the fastest on average, ${beyond(chosen.worst)} at worst${some(chosen)}.${always}`;
}

function ownText(ratio: number): string {
  if (Number.isNaN(ratio)) return '';
  const [size, more] = [Math.abs(ratio - 1), ratio > 1 ? 'more' : 'less'];
  const said = size < AGREEMENT_FRACTION ? 'about as long as' : `${percent(size).replace('\u00a0', ' ')} ${more} than`;
  return `\n// For the study's own lengths, in their order, the choice is predicted to take ${said} the launch of this study.`;
}

function choiceHeader(source: CodeSource, row: RankRow, device: Device, table: ChoiceTable): string {
  const name = implementationName(source, row);
  const guard = `LOCKSTEP_${name.toUpperCase()}_CHOICE_HPP`;
  const { means, spreads, units, designs, heldOut, ofOwnLengths, of } = table;
  const cap = row.design.registerCap;
  const threads = [...new Set(designs.map(({ threadsPerUnit }) => threadsPerUnit))].sort((a, b) => a - b);
  const points = means.length * spreads.length * units.length;
  return `${head(source, row).join('\n')}
//
// Chooses a launch of this kernel when the lengths are known. It chooses among ${counted(designs.length, 'launch', 'launches')} of ${whole(of)}, by their predicted times for
// ${whole(points)} laws of lengths: means ${whole(means[0])} to ${whole(means.at(-1)!)}, spreads ${spreads[0]} to ${spreads.at(-1)!}, and ${whole(units[0])} to ${whole(units.at(-1)!)} units. For each of these laws, one of the launches is within
// 1.5 % of the fastest. Between the laws, logarithms of times are interpolated linearly over the logarithms of mean, spread and units.
// Beyond them, the nearest law counts, and predicted_ns is its time. Each law has the largest entropy for its mean and spread; the units are in random order.
// ${heldOutText(heldOut)}${ownText(ofOwnLengths)}
// The order of the units (${comment(row.design.balancing)}), the loop (${comment(row.design.loop)})${cap === null ? '' : `, the register cap (${cap})`} and the kernel's other inputs are those of the study.${
    table.isThinned
      ? '\n// Only block sizes that are powers of two, and the block size of the study, were predicted.'
      : ''
  }
//
// const auto launch = lockstep_${name}::choose(lengths, count);
// lockstep_${name}::with_threads(launch, [&](auto threads) { kernel<threads><<<launch.grid_blocks, launch.block_threads>>>(...); });
#ifndef ${guard}
#define ${guard}

#include <cmath>
#include <type_traits>

namespace lockstep_${name} {

/// A launch for a number of units.
struct choice {
  /// Threads that share one unit.
  unsigned threads_per_unit;
  unsigned block_threads;
  unsigned grid_blocks;
  /// The most units that a slot of threads_per_unit threads processes.
  unsigned units_per_thread;
  /// The predicted time, from the table.
  float predicted_ns;
};

/// The largest block of any choice, for __launch_bounds__.
constexpr unsigned max_block_threads = ${Math.max(...designs.map(({ blockThreads }) => blockThreads))}u;
/// Up to this many lengths, all are read, and their mean and spread are exact.
constexpr unsigned long long read_all = 32768u;
/// Of more lengths, this many are read.
constexpr unsigned sample_size = 1024u;

namespace choice_table {

struct design {
  unsigned threads_per_unit, block_threads;
  /// Units per slot, or 0 if they follow from the blocks.
  unsigned rounds;
  /// Blocks, or 0 if they follow from the units.
  unsigned blocks;
};

${writeTables(table, device)}

${CHOOSING}
/// Calls body with the threads per unit as a constant, for a kernel that has them as a template parameter.
template <class Body>
void with_threads(const choice& launch, Body&& body) {
  switch (launch.threads_per_unit) {
${threads.map((value) => `    case ${value}u: body(std::integral_constant<unsigned, ${value}u>{}); break;`).join('\n')}
  }
}

}  // namespace lockstep_${name}

#endif  // ${guard}
`;
}

function axisOf([id, said, values]: readonly [string, string, readonly number[]]): string {
  const logs = values.map((value) => `${Math.fround(Math.log(value)).toPrecision(9)}f`);
  return `/// ${said}: ${values.join(', ')}. These are their logarithms.
constexpr unsigned ${id}_count = ${values.length}u;
inline constexpr float log_${id}[${id}_count] = {${logs.join(', ')}};`;
}

function writeTables({ means, spreads, units, designs, logNs }: ChoiceTable, device: Device): string {
  const points = means.length * spreads.length * units.length;
  const rows = Array.from({ length: points }, (_, point) => {
    const own = logNs.subarray(point * designs.length, (point + 1) * designs.length);
    return `    ${Array.from(own, (log) => (Number.isNaN(log) ? CANNOT_RUN : `${log.toFixed(4)}f`)).join(', ')},`;
  });
  const all = designs.map((design) => designRow(design, device));
  const lines = Array.from(
    { length: Math.ceil(all.length / DESIGNS_PER_LINE) },
    (_, line) => `    ${all.slice(line * DESIGNS_PER_LINE, (line + 1) * DESIGNS_PER_LINE).join(', ')},`,
  );
  const axes = [
    ['means', 'Mean lengths', means],
    ['spreads', 'Standard deviations of the lengths, divided by their mean', spreads],
    ['counts', 'Numbers of units', units],
  ] as const;
  return `constexpr unsigned design_count = ${designs.length}u;
inline constexpr design designs[design_count] = {
${lines.join('\n')}
};

${axes.map(axisOf).join('\n')}

/// Logarithms of predicted times, ns: by mean, spread, units and design. ${CANNOT_RUN} marks a design that cannot run.
inline constexpr float log_ns[means_count * spreads_count * counts_count][design_count] = {
${rows.join('\n')}
};`;
}

const CHOOSING = `/// A position between entry \`at\` of a list and the next entry: \`part\` is 0 at the first and 1 at the second.
struct place {
  unsigned at;
  float part;
};

inline place place_in(const float* values, unsigned count, double value) {
  const float log = static_cast<float>(std::log(value));
  // In this form, the test also holds for NaN. The spread is NaN if there are no lengths.
  if (!(log > values[0])) return {0u, 0.0f};
  if (log >= values[count - 1u]) return {count - 1u, 0.0f};
  unsigned at = 0u;
  while (values[at + 1u] <= log) ++at;
  return {at, (log - values[at]) / (values[at + 1u] - values[at])};
}

}  // namespace choice_table

/// Returns the launch for a number of units. The spread is the standard deviation of the lengths divided by the mean.
inline choice choose_for(double mean, double spread, unsigned long long units) {
  using namespace choice_table;
  const place in_means = place_in(log_means, means_count, mean);
  const place in_spreads = place_in(log_spreads, spreads_count, spread);
  const place in_counts = place_in(log_counts, counts_count, static_cast<double>(units));
  float logs[design_count] = {};
  for (unsigned corner = 0u; corner < 8u; ++corner) {
    const unsigned m = corner & 1u, s = corner >> 1u & 1u, c = corner >> 2u;
    const float weight = (m ? in_means.part : 1.0f - in_means.part) * (s ? in_spreads.part : 1.0f - in_spreads.part) *
                         (c ? in_counts.part : 1.0f - in_counts.part);
    if (weight == 0.0f) continue;
    const float* times = log_ns[((in_means.at + m) * spreads_count + in_spreads.at + s) * counts_count + in_counts.at + c];
    for (unsigned one = 0u; one < design_count; ++one) logs[one] += weight * times[one];
  }
  unsigned best = 0u;
  for (unsigned one = 1u; one < design_count; ++one)
    if (logs[one] < logs[best]) best = one;
  const design& own = designs[best];
  const unsigned long long slots = own.block_threads / own.threads_per_unit;
  const unsigned long long rounds = own.rounds ? own.rounds : 1u;
  const unsigned long long needed = (units + slots * rounds - 1u) / (slots * rounds);
  const unsigned long long blocks = own.blocks && own.blocks < needed ? own.blocks : needed;
  const unsigned long long per_slot = blocks ? (units + blocks * slots - 1u) / (blocks * slots) : 0u;
  return {own.threads_per_unit, own.block_threads, static_cast<unsigned>(blocks), static_cast<unsigned>(per_slot), std::exp(logs[best])};
}

struct figures {
  double mean;
  /// The standard deviation of the lengths divided by their mean.
  double spread;
};

/// Returns the figures of all lengths if there are at most \`all\`, otherwise those of a sample.
template <class LengthAt>
figures figures_of(const LengthAt& length_at, unsigned long long count, unsigned long long all) {
  const unsigned long long taken = count <= all ? count : sample_size;
  double sum = 0.0, squares = 0.0;
  for (unsigned long long i = 0u; i < taken; ++i) {
    unsigned long long at = i;
    if (taken < count) {
      // Takes one length from each stretch, at a scattered position, so that a period in the lengths does not bias the sample.
      const unsigned long long stretch = count / taken, rest = count % taken;
      const unsigned long long scattered = (i * 0x9E3779B97F4A7C15ull) >> 32u;
      at = i * stretch + i * rest / taken + scattered % stretch;
    }
    const double length = static_cast<double>(length_at(at));
    sum += length;
    squares += length * length;
  }
  const double mean = taken ? sum / taken : 0.0;
  const double variance = taken ? squares / taken - mean * mean : 0.0;
  return {mean, mean > 0.0 && variance > 0.0 ? std::sqrt(variance) / mean : 0.0};
}

/// Returns the launch for the lengths length_at(0) to length_at(count - 1). If there are more than \`all\`, it reads a sample,
/// which can miss a few units that are far longer than all others. The launch can then take many times as long as predicted.
/// With \`count\` for \`all\`, it reads every length. This takes about 1 ns for each.
template <class LengthAt>
choice choose_by(const LengthAt& length_at, unsigned long long count, unsigned long long all = read_all) {
  const figures own = figures_of(length_at, count, all);
  return choose_for(own.mean, own.spread, count);
}

/// Returns the launch for these lengths, which are on the host. For \`all\`, see choose_by.
template <class Length>
choice choose(const Length* lengths, unsigned long long count, unsigned long long all = read_all) {
  return choose_by([lengths](unsigned long long at) { return lengths[at]; }, count, all);
}

/// Returns the launch for the rows of a sparse matrix, or for segments. offsets has one more entry than there are rows. Here, the
/// mean is always exact. If it shows that a sample missed long rows, all rows are read. For \`all\`, see choose_by.
template <class Offset>
choice choose_rows(const Offset* offsets, unsigned long long rows, unsigned long long all = read_all) {
  const auto length_at = [offsets](unsigned long long at) { return offsets[at + 1u] - offsets[at]; };
  figures own = figures_of(length_at, rows, all);
  if (rows > all) {
    const double mean = static_cast<double>(offsets[rows] - offsets[0]) / rows;
    const double standard_error = own.mean * own.spread / std::sqrt(static_cast<double>(sample_size));
    if (mean > own.mean + 3.0 * standard_error) own = figures_of(length_at, rows, rows);
  }
  return choose_for(own.mean, own.spread, rows);
}
`;
