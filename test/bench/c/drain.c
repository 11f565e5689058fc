#include "drain.h"

static int cells, multiprocessors;
static double slots, cap, cycles;
static const double *data, *table;

static void drain(void) { cycles = drain_cycles(data, cells, slots, multiprocessors, table, cap); }

int main(int argc, char **argv) {
  read_input(argv[argc - 1]);
  read_drain_constants();
  cells = integer();
  data = numbers(cells * CELL_FIELDS);
  slots = number();
  multiprocessors = integer();
  cap = number();
  table = numbers((int)cap + 1);
  drain();
  print_result(fastest_ns(drain), &cycles, 1);
}
