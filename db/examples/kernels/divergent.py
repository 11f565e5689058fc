"""Groups of units in lockstep: a group takes as many turns as its longest unit. Standard library only.

lockstep bench RUN --exec 'python3 divergent.py {lengthsFile} --group {blockThreads}'
"""
import argparse, array, json, sys, time

parser = argparse.ArgumentParser()
parser.add_argument("lengths")
parser.add_argument("--group", type=int, required=True)
options = parser.parse_args()
lengths = array.array("I")
with open(options.lengths, "rb") as file:
    lengths.frombytes(file.read())
if sys.byteorder == "big":
    lengths.byteswap()

start = time.perf_counter_ns()
work = 0
for first in range(0, len(lengths), options.group):
    group = lengths[first : first + options.group]
    for turn in range(max(group)):
        work += sum(turn < length for length in group)
print(json.dumps({"timeNs": time.perf_counter_ns() - start}))
print(json.dumps({"correct": work == sum(lengths), "maxError": abs(work - sum(lengths)), "digest": work}))
