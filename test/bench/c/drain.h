/* `drainCycles` of src-workers/predict/time/drain.ts, for blocks that are draws. */
#include "bench.h"

enum { WIDTH, BLOCK, GROUP, PAIR, ACTIVE, VARIANCE, DEVIATION, LOG_IDLE, OWN, OWN_VARIANCE, CELL_FIELDS };
enum { STEPS = 64, LOWEST = 40 };
static double DECAY[LOWEST * STEPS + 1];
static double ALIGNMENT_POWER, ALL_BUT_CERTAIN, AT_MOST_ONE_ACTIVE, IMPOSSIBLE_LOG;
/* E[max of n standard normals], by n. */
static const double *maxima;

static void read_drain_constants(void) {
  ALIGNMENT_POWER = number();
  ALL_BUT_CERTAIN = number();
  AT_MOST_ONE_ACTIVE = number();
  IMPOSSIBLE_LOG = number();
  int count = integer();
  maxima = numbers(count);
  for (int i = 0; i <= LOWEST * STEPS; i++) DECAY[i] = exp(-(double)i / STEPS);
}

static double any_of(double x) {
  double steps = -x * STEPS;
  int i = (int)(steps + 0.5);
  double rest = (i - steps) / STEPS, more = rest * (1 + 0.5 * rest);
  return i == 0 ? -more : 1 - DECAY[i] * (1 + more);
}

static double cycles_at(const double *table, double groups, double cap) {
  if (groups <= 1) return table[1];
  if (groups >= cap) return table[(int)cap];
  int below = (int)groups;
  double t = table[below];
  return t + (groups - below) * (table[below + 1] - t);
}

static double mean_cycles(const double *table, double mean, double deviation, double cap) {
  if (mean + deviation <= cap)
    return 0.5 * (cycles_at(table, mean - deviation, cap) + cycles_at(table, mean + deviation, cap));
  double room = cap - mean;
  if (!(room > 1e-9)) return table[(int)cap];
  double variance = deviation * deviation, below = room * room / (room * room + variance);
  return below * cycles_at(table, mean - variance / room, cap) + (1 - below) * table[(int)cap];
}

static double drain_cycles(const double *data, int cells, double slots, int multiprocessors, const double *table,
                           double cap) {
  double device_slots = slots * multiprocessors, root_slots = sqrt(slots), mean_time = 0;
  const double *end = data + cells * CELL_FIELDS;
  for (const double *c = data; c < end; c += CELL_FIELDS) {
    double b = c[BLOCK], h = c[WIDTH], log_idle = c[LOG_IDLE];
    if (b < 1e-13) continue;
    if (device_slots * log_idle > -AT_MOST_ONE_ACTIVE) {
      mean_time += h * slots * b * cycles_at(table, c[OWN], cap);
      continue;
    }
    double mean = slots * c[ACTIVE], deviation = root_slots * c[DEVIATION], alive = 1, log_here = slots * log_idle;
    if (log_here >= -ALL_BUT_CERTAIN) {
      alive = slots == 1 ? b : any_of(log_here);
      double square = (deviation * deviation + mean * mean) / alive;
      mean /= alive;
      deviation = sqrt(fmax(0, square - mean * mean));
    }
    mean_time += h * alive * mean_cycles(table, mean, deviation, cap);
  }
  if (multiprocessors <= 1) return mean_time;

  double top = maxima[multiprocessors], skewing = fmax(0, top * top - 1) / 6;
  double longest_time = 0, top_time = 0, variance = 0, inner = 0, aligned = 0;
  for (const double *c = data; c < end; c += CELL_FIELDS) {
    if (c[BLOCK] < 1e-13) continue;
    double h = c[WIDTH], log_nowhere = device_slots * c[LOG_IDLE], own = c[OWN];
    if (log_nowhere > -AT_MOST_ONE_ACTIVE) {
      double t = -h * log_nowhere * cycles_at(table, own, cap);
      longest_time += t;
      top_time += t;
      continue;
    }
    double active = c[ACTIVE], slot_variance = c[VARIANCE], all = slots * active;
    double mean_slow = own + (all - active), variance_slow = c[OWN_VARIANCE] + (slots - 1) * slot_variance;
    double deviation_slow = sqrt(variance_slow), t = mean_cycles(table, mean_slow, deviation_slow, cap);
    double anywhere = log_nowhere >= -IMPOSSIBLE_LOG ? h * any_of(log_nowhere) : h;
    longest_time += t * anywhere;
    double ended = 1 - c[GROUP];
    if (ended > 0) {
      double clump = active > 0 ? slot_variance / (ended * active) : 0;
      double skewed = skewing * (ended - c[GROUP]) * clump;
      double shift = fmin(cap - all, top * root_slots * c[DEVIATION] + fmax(0, skewed));
      double width = fmax(0.5, fmax(deviation_slow, all + shift - mean_slow));
      double slope = fmax(0, cycles_at(table, mean_slow + width, cap) - t) / width * h, before = slope * ended;
      variance += slope * variance_slow / ended * (2 * inner + before);
      inner += before;
      top_time += anywhere * fmax(t, cycles_at(table, all + shift, cap));
      aligned += slope * deviation_slow;
    } else top_time += h * t;
  }
  double longest = fmax(0, longest_time - mean_time), bound = top_time - mean_time;
  double apart = sqrt(longest * longest + top * top * variance);
  if (apart >= bound) return mean_time + bound;
  double alignment = aligned > 0 ? fmin(1, sqrt(variance) / aligned) : 0;
  return mean_time + apart + (bound - apart) * pow(alignment, ALIGNMENT_POWER);
}
