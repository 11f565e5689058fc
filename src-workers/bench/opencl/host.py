"""Host of the user's own kernel in OpenCL: python3 host.py LAUNCHES.json [ORDER], in the folder of the files.

It times the launches by the driver's profiling events and compares the outputs with their references.
kernel/opencl-program.ts writes LAUNCHES.json, and program/output.ts reads the output. Without arguments it lists the
devices of all platforms as records (domain/benchmark.ts). It needs PyOpenCL and NumPy.
"""
import json, os, re, sys

import numpy
import pyopencl as cl


def all_devices():
    try:
        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:
        return []  # The loader fails without a driver.


def name_of(device):
    try:
        return device.board_name_amd.strip() or device.name.strip()  # AMD's drivers name only the chip.
    except (AttributeError, cl.Error):
        return device.name.strip()


def driver_of(device):
    return f"{device.platform.name.strip()} {device.driver_version.strip()}"


def list_devices():
    devices = all_devices()
    for ordinal, device in enumerate(devices):
        name, driver = name_of(device), driver_of(device)
        print(json.dumps({
            "type": "device", "backend": "program", "name": name, "driver": driver, "versions": {}, "timer": "device",
            "fingerprint": f"opencl|{name}|{driver}", "threadGroupWidth": None,
            "clockMhz": device.max_clock_frequency or None, "multiprocessors": device.max_compute_units,
            "properties": {"ordinal": ordinal, "maxWorkGroupSize": device.max_work_group_size},
        }))
    if not devices:
        print(json.dumps({"type": "lost", "message": "OpenCL has no device"}))


def numbers(data, kind):
    """Returns the values of raw bytes; bfloat16 is the upper half of a single-precision number."""
    if kind == "bf16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    return numpy.frombuffer(data, f"<{kind[0]}{int(kind[1:]) // 8}")


def differences(found, expected):
    """Returns absolute differences; integers are compared exactly, since a double cannot hold all of them."""
    if found.dtype.kind != "f":
        return numpy.maximum(found, expected).astype("u8") - numpy.minimum(found, expected).astype("u8")
    found, expected = found.astype("f8"), expected.astype("f8")
    with numpy.errstate(invalid="ignore"):
        return numpy.where(found == expected, 0, abs(found - expected))


def build(context, path, options):
    os.chdir(os.path.dirname(path))  # Headers are beside the source, and drivers accept no folder with a space.
    with open(path, encoding="utf-8") as file:
        program = cl.Program(context, file.read())
    try:
        return program.build(["-I", ".", *options])
    except cl.Error as error:
        # Every driver names the source differently and logs many lines, so only the first error is shown.
        line = next((line for line in str(error).splitlines() if re.search(r"\berror\b", line)), str(error))
        place = re.search(r":(\d+):\d+: (?:(?:fatal )?error: )?(.*)", line)
        said = f"line {place[1]}: {place[2]}" if place else line.strip()
        sys.exit(f"{os.path.basename(path)} does not compile for OpenCL, correct it: {said}.")


def measure(task, order):
    devices = all_devices()
    if task["device"] >= len(devices):
        sys.exit(f"OpenCL has no device {task['device']}: lockstep bench --list names all {len(devices)}.")
    device = devices[task["device"]]
    limit = device.max_work_group_size
    block = task["blockThreads"]
    if block > limit:
        sys.exit(f"A block of {block} threads exceeds this device's limit of {limit}. Use smaller blocks.")
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    given, restored, compared = {}, [], []
    for at, argument in enumerate(task["arguments"]):
        path, count = argument["file"], argument["count"]
        if path is None and count == 0:
            continue
        size = count * argument["values"] * int(argument["type"].lstrip("iufb")) // 8
        data = open(order if path == "order" else path, "rb").read() if path is not None else bytes(size)
        if argument["struct"]:
            given[at] = data
            continue
        given[at] = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=bytearray(data))
        if count > 0:
            restored.append((given[at], data))
        if argument["reference"] is not None:
            compared.append((argument, given[at], open(argument["reference"], "rb").read()))

    programs, launches = {}, []
    for launch in task["launches"]:
        options = tuple(launch["options"])
        if options not in programs:
            programs[options] = build(context, task["source"], options)
        try:
            kernel = cl.Kernel(programs[options], task["entry"])
        except cl.Error:
            sys.exit(f"{os.path.basename(task['source'])} has no kernel {task['entry']}: name one in \"entries\".")
        values = [bytes.fromhex(launch["values"][str(at)]) if str(at) in launch["values"] else given[at]
                  for at in range(len(task["arguments"]))]
        if launch["sharedBytes"] is not None:
            values.append(cl.LocalMemory(launch["sharedBytes"]))
        if kernel.num_args != len(values):
            sys.exit(f"{task['entry']} has {kernel.num_args} parameters, but the manifest gives {len(values)}: its "
                     "\"arguments\" in their order and, with \"sharedBytes\", a __local pointer.")
        for at, value in enumerate(values):
            try:
                kernel.set_arg(at, value)
            except cl.Error as error:
                name = task["arguments"][at]["name"] if at < len(task["arguments"]) else "of sharedBytes"
                sys.exit(f"{task['entry']} does not take the argument {name} as its parameter {at}: {error}.")
        launches.append((kernel, launch["gridBlocks"] * block))

    def launch_all():
        for buffer, data in restored:
            cl.enqueue_copy(queue, buffer, data)
        queue.finish()
        events = [cl.enqueue_nd_range_kernel(queue, kernel, (threads,), (block,))
                  for kernel, threads in launches]
        queue.finish()
        return events[-1].profile.end - events[0].profile.start

    said = {"device": name_of(device), "driver": driver_of(device), "multiprocessors": device.max_compute_units}
    print(json.dumps(said))
    launch_all()  # The first launch loads the kernel, so it is not timed.
    for _ in range(task["repeats"]):
        print(json.dumps({"timeNs": launch_all()}))
    correct, worst = True, 0.0
    for argument, buffer, reference in compared:
        found = bytearray(len(reference))
        cl.enqueue_copy(queue, found, buffer)
        expected = numbers(reference, argument["type"])
        error = differences(numbers(bytes(found), argument["type"]), expected)
        with numpy.errstate(invalid="ignore"):
            bound = argument["absolute"] + argument["relative"] * abs(expected.astype("f8"))
        correct = correct and bool(((error == 0) | (error <= bound)).all())
        worst = float(numpy.maximum(worst, error.max()))  # The maximum keeps NaN.
    print(json.dumps({"correct": correct, **({"maxError": worst} if numpy.isfinite(worst) else {})}))


if len(sys.argv) == 1:
    list_devices()
else:
    with open(sys.argv[1], encoding="utf-8") as file:
        description = json.load(file)
    try:
        measure(description, os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None)
    except (cl.Error, cl.MemoryError) as error:
        sys.exit(f"OpenCL refused the launch of {description['entry']}: {error}.")
