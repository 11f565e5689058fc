/* `lossMoments` of src-workers/models/imbalance/closed-form.ts for group sizes that are powers of two. */
#include "bench.h"

static int count, sizes, tail_count;
static const double *lengths, *masses, *group_sizes, *tail_nodes, *tail_weights;
static double step, dropped, horizon, tail_start;
static double *power, *difference, *squares;
static double maximum[16], maximum_squared[16], first[16], second[16], losses[16];

static void evaluate(double s) {
  double longest = lengths[0] + horizon / s, sum = 0, gap = 0, gap_factor = 1, decay = 1;
  int used = 0;
  for (; used < count && lengths[used] <= longest; used++) {
    if (used % 64 == 0) decay = exp(-s * lengths[used]);
    else {
      double width = lengths[used] - lengths[used - 1];
      if (width != gap) gap = width, gap_factor = exp(-s * width);
      decay *= gap_factor;
    }
    double mass = masses[used] * decay;
    sum += mass;
    difference[used] = mass;
    power[used] = sum;
  }
  int at = 0;
  for (double size = 1; at < sizes; size *= 2) {
    if (group_sizes[at] == size) {
      double one = 0, two = 0;
      for (int i = 0; i < used; i++) one += lengths[i] * difference[i], two += squares[i] * difference[i];
      maximum[at] = one;
      maximum_squared[at] = two;
      if (++at == sizes) break;
    }
    double previous = 0;
    for (int i = 0; i < used; i++) {
      double p = power[i];
      difference[i] *= p + previous;
      previous = p;
      power[i] = p * p;
    }
  }
}

static void add_node(double s, double weight) {
  evaluate(s);
  for (int i = 0; i < sizes; i++) {
    double n = group_sizes[i];
    first[i] += weight * n * maximum[i];
    second[i] += weight * s * n * n * maximum_squared[i];
  }
}

static void mean_loss(void) {
  for (int i = 0; i < sizes; i++) first[i] = second[i] = 0;
  evaluate(0);
  for (int i = 0; i < tail_count; i++) add_node(tail_start * tail_nodes[i], tail_start * tail_weights[i]);
  for (int k = 1, converged = 0; !converged; k++) {
    double s = tail_start * exp(k * step);
    add_node(s, s * step);
    converged = 1;
    for (int i = 0; i < sizes; i++) {
      double n = group_sizes[i], reach = 1 / (n * lengths[0]);
      if (n * maximum[i] * reach > dropped * first[i] ||
          n * n * maximum_squared[i] * reach * (s + reach) > dropped * second[i])
        converged = 0;
    }
  }
  for (int i = 0; i < sizes; i++) losses[i] = first[i];
}

int main(int argc, char **argv) {
  read_input(argv[argc - 1]);
  count = integer();
  lengths = numbers(count);
  masses = numbers(count);
  sizes = integer();
  group_sizes = numbers(sizes);
  step = number();
  dropped = number();
  tail_start = number();
  tail_count = integer();
  tail_nodes = numbers(tail_count);
  tail_weights = numbers(tail_count);
  double ratio = lengths[0] / lengths[count - 1];
  horizon = -log(1e-18 * (masses[0] / group_sizes[sizes - 1]) * ratio * ratio);
  power = malloc(count * sizeof(double));
  difference = malloc(count * sizeof(double));
  squares = malloc(count * sizeof(double));
  for (int i = 0; i < count; i++) squares[i] = lengths[i] * lengths[i];
  mean_loss();
  print_result(fastest_ns(mean_loss), losses, sizes);
}
