/* What the programs share: numbers from a file, the time of a call, and results as one JSON line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double *input;

/* Numbers of the file, in the order in which `compiled.ts` writes them. */
static void read_input(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  long bytes = ftell(file);
  rewind(file);
  double *numbers = malloc(bytes);
  if (fread(numbers, 1, bytes, file) != (size_t)bytes) exit(2);
  fclose(file);
  input = numbers;
}
static double number(void) { return *input++; }
static int integer(void) { return (int)number(); }
static const double *numbers(int count) {
  const double *first = input;
  input += count;
  return first;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Time of a call in the fastest of many batches of 2 ms: what else the machine does only adds. */
static double fastest_ns(void (*call)(void)) {
  double start = now_ns(), fastest = 1e18;
  int calls = 0;
  while (now_ns() - start < 2e6 || calls == 0) call(), calls++;
  for (int batch = 0; batch < 250; batch++) {
    start = now_ns();
    for (int j = 0; j < calls; j++) call();
    fastest = fmin(fastest, (now_ns() - start) / calls);
  }
  return fastest;
}

static void print_result(double ns, const double *values, int count) {
  printf("{\"ns\":%.17g,\"values\":[", ns);
  for (int i = 0; i < count; i++) printf(isnan(values[i]) ? "%snull" : "%s%.17g", i ? "," : "", values[i]);
  printf("]}\n");
}
