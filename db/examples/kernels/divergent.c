/* Runs a loop for each unit, as long as the unit, on the threads of a CPU, which take blocks of BLOCK units.
   lockstep bench RUN --build 'gcc -O2 -fopenmp -DBLOCK={blockThreads} divergent.c -o {binary}' \
                      --exec '{binary} {units} {lengthsFile}' */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
  long units = argc == 3 ? atol(argv[1]) : 0;
  uint32_t *lengths = malloc(4 * units), digest = 0;
  FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (!file || fread(lengths, 4, units, file) != (size_t)units) return fprintf(stderr, "cannot read the lengths\n"), 1;
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
#pragma omp parallel for schedule(dynamic, BLOCK) reduction(^ : digest)
  for (long unit = 0; unit < units; unit++) {
    uint32_t x = (uint32_t)unit + 1;
    for (uint32_t i = lengths[unit]; i > 0; i--) x = (x ^ x >> 15) * 0x2c1b3c6du;
    digest ^= x;
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("{\"timeNs\": %.0f}\n", (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec));
  printf("{\"digest\": \"%08x\"}\n", digest);
}
