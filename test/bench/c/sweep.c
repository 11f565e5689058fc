/*
 * The loop of src-workers/predict/ranges.ts over launches that fit the device at once, one thread per unit, no balancing: a design is
 * taken apart, checked, timed by two drains at most, and written to columns. Laws, shapes and cycles are tables made before.
 */
#include "drain.h"

typedef struct {
  int multiprocessors, invalid_grid;
  double cycle_ms, max_grid;
} Device;
typedef struct {
  int invalid, resident, groups, limited_by;
  double occupancy;
  const double *table;
} Shape;
typedef struct {
  double units_per_thread, scale, alone, mean_loss, aggregate_loss;
} Launch;
typedef struct {
  int cells;
  const double *data;
} Profile;

static int devices, caps, blocks, launches, designs;
static double units;
static const double *block_threads;
static Device *device;
static Shape *shape;
static Launch *launch;
static Profile *profile;
static double *time_ms, *units_per_thread, *grid_blocks;
static float *mean_loss, *aggregate_loss, *occupancy;
static unsigned short *resident_blocks;
static unsigned char *limited_by, *invalid_reason;

static double one_wave(const Profile *p, const Shape *s, double grid, int multiprocessors) {
  double few = floor(grid / multiprocessors), full = 0, W = s->groups;
  int fuller = (int)(grid - few * multiprocessors);
  if (fuller > 0) full = drain_cycles(p->data, p->cells, few + 1, fuller, s->table, (few + 1) * W);
  return few > 0 ? fmax(full, drain_cycles(p->data, p->cells, few, multiprocessors, s->table, few * W)) : full;
}

static void sweep(void) {
  int per_device = launches * caps * blocks;
  for (int block = 0; block < blocks; block++)
    for (int at = 0; at < launches; at++)
      for (int d = 0; d < devices; d++)
        for (int cap = 0; cap < caps; cap++) {
          int i = d * per_device + (at * caps + cap) * blocks + block;
          const Shape *s = &shape[(d * caps + cap) * blocks + block];
          const Launch *l = &launch[at];
          double threads = block_threads[block], grid = ceil(units / (threads * l->units_per_thread));
          int invalid = s->invalid;
          if (!invalid && grid > device[d].max_grid) invalid = device[d].invalid_grid;
          invalid_reason[i] = invalid;
          occupancy[i] = s->occupancy;
          resident_blocks[i] = s->resident;
          limited_by[i] = s->limited_by;
          units_per_thread[i] = l->units_per_thread;
          grid_blocks[i] = grid;
          if (invalid) {
            time_ms[i] = NAN;
            continue;
          }
          double cycles = one_wave(&profile[at * blocks + block], s, grid, device[d].multiprocessors) * l->scale;
          time_ms[i] = fmax(cycles, l->alone * s->table[1]) * device[d].cycle_ms;
          mean_loss[i] = l->mean_loss;
          aggregate_loss[i] = l->aggregate_loss;
        }
}

int main(int argc, char **argv) {
  read_input(argv[argc - 1]);
  read_drain_constants();
  devices = integer(), caps = integer(), blocks = integer(), launches = integer();
  units = number();
  block_threads = numbers(blocks);
  designs = devices * caps * blocks * launches;
  device = malloc(devices * sizeof *device);
  for (int d = 0; d < devices; d++)
    {
      const double *v = numbers(4);
      device[d] = (Device){(int)v[0], (int)v[1], v[2], v[3]};
    }
  launch = malloc(launches * sizeof *launch);
  for (int at = 0; at < launches; at++) {
    const double *l = numbers(5);
    launch[at] = (Launch){l[0], l[1], l[2], l[3], l[4]};
  }
  shape = malloc(devices * caps * blocks * sizeof *shape);
  for (int i = 0; i < devices * caps * blocks; i++) {
    const double *s = numbers(5);
    int entries = integer();
    shape[i] = (Shape){(int)s[0], (int)s[1], (int)s[2], (int)s[3], s[4], numbers(entries)};
  }
  profile = malloc(launches * blocks * sizeof *profile);
  for (int i = 0; i < launches * blocks; i++) {
    int cells = integer();
    profile[i] = (Profile){cells, numbers(cells * CELL_FIELDS)};
  }
  time_ms = malloc(designs * sizeof(double));
  units_per_thread = malloc(designs * sizeof(double));
  grid_blocks = malloc(designs * sizeof(double));
  mean_loss = malloc(designs * sizeof(float));
  aggregate_loss = malloc(designs * sizeof(float));
  occupancy = malloc(designs * sizeof(float));
  resident_blocks = malloc(designs * sizeof(short));
  limited_by = malloc(designs);
  invalid_reason = malloc(designs);
  sweep();
  print_result(fastest_ns(sweep) / designs, time_ms, designs);
}
