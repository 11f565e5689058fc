"""Launches an OpenCL kernel that takes the lengths, the results and the number of units. Needs PyOpenCL and NumPy.

lockstep bench RUN --exec 'python3 opencl.py divergent.cl {lengthsFile} --block {blockThreads} --grid {gridBlocks}'
"""
import argparse, json, sys

import numpy
import pyopencl as cl

parser = argparse.ArgumentParser()
parser.add_argument("source")
parser.add_argument("lengths")
parser.add_argument("--block", type=int, required=True)
parser.add_argument("--grid", type=int, required=True)
parser.add_argument("--kernel", default="divergent", help="its name in the source")
parser.add_argument("--device", type=int, default=0, help="its place among the devices of all platforms")
options = parser.parse_args()

try:
    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
except cl.Error:
    devices = []
if options.device >= len(devices):
    sys.exit(f"No OpenCL device {options.device}: there are {len(devices)}. Install a driver, such as pocl-opencl-icd.")
device = devices[options.device]
if options.block > device.max_work_group_size:
    limit = device.max_work_group_size
    sys.exit(f"A block of {options.block} threads exceeds this device's limit of {limit}. Use smaller blocks.")
context = cl.Context([device])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
with open(options.source, encoding="utf-8") as file:
    program = cl.Program(context, file.read())
try:
    program.build([f"-DBLOCK={options.block}"])
except cl.RuntimeError as error:
    # What ran last is quoted: the compiler's first error, with its line.
    lines = [line.strip() for line in str(error).splitlines() if "error:" in line]
    sys.exit(f"{options.source} does not compile, correct it: {lines[0] if lines else error}")

lengths = numpy.fromfile(options.lengths, "<u4").astype(numpy.uint32)
results = numpy.zeros_like(lengths)
inputs = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=lengths)
outputs = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, results.nbytes)
kernel = cl.Kernel(program, options.kernel)
kernel.set_args(inputs, outputs, numpy.uint32(len(lengths)))
for launch in range(2):  # The first loads the kernel: its time is not printed.
    event = cl.enqueue_nd_range_kernel(queue, kernel, (options.grid * options.block,), (options.block,))
    event.wait()
cl.enqueue_copy(queue, results, outputs)
print(json.dumps({"device": device.name.strip(), "multiprocessors": device.max_compute_units}))
print(json.dumps({"timeNs": event.profile.end - event.profile.start}))
print(json.dumps({"digest": f"{numpy.bitwise_xor.reduce(results):08x}"}))
