"""Calls every function of lockstep.py and prints what they return, as one JSON object. Its argument is the folder of the test."""

import itertools
import json
import numbers
import os
import signal
import sys
import threading
import types

folder, exec_command = sys.argv[1:]
sys.path.insert(0, folder)
os.chdir(folder)
import lockstep  # noqa: E402


def failure(call):
    try:
        call()
    except lockstep.LockstepError as error:
        return {"code": error.code, "field": error.field, "message": str(error)}
    return None


out = {}
with lockstep.Lockstep(db="test.db") as session:
    out["loss"] = session.loss("geometric(0.05)", n=[2, 4], quantiles=True)
    lengths = [3, 1, 40, 7, 0, 12, 5, 2]
    out["listed"] = session.loss(lengths, n=2)
    out["ofTuple"] = session.loss(tuple(lengths), n=(2,))

    # Stand-ins for the types of NumPy and SciPy: an integer that is not an int, arrays with a shape, a sparse matrix.
    class Integer:
        def __init__(self, value):
            self.value = value

        def tolist(self):
            return self.value

    numbers.Integral.register(Integer)

    def array(values, *shape):
        return types.SimpleNamespace(shape=shape, tolist=lambda: values)

    rows = types.SimpleNamespace(indptr=array([0, *itertools.accumulate(lengths)], 9))
    out["likeNumpy"] = [
        session.loss(given, n=Integer(2))
        for given in (array(lengths, 8), array([[one] for one in lengths], 8, 1), types.SimpleNamespace(tocsr=lambda: rows))
    ]
    out["ofBooleans"] = session.loss([True, False, True, False], n=2)["workload"]["mean"]
    run = session.sweep("study.json", top=3)
    out["sweep"] = run
    out["recommend"] = session.recommend("study.json")
    out["ofRun"] = session.recommend(run)
    out["robustOfRun"] = session.recommend(run, robust=True)
    out["plainOfStudy"] = session.recommend("study.json", robust=False)
    out["simulate"] = session.simulate(run, top=2)
    out["tune"] = session.tune(run, device="nvidia-rtx-4090", exec=exec_command, budget=5, repeats=2, warm_ups=0)
    out["rank"] = session.rank(run, top=4, groups=True)
    out["ofDevice"] = session.rank(Integer(run["runId"]), top=1, device="nvidia-rtx-4090")

    own = [{"BX": row["design"]["blockThreads"], **{name: value for name, value in row["design"].items() if name != "blockThreads"}} for row in out["rank"]]
    by_name = {"map": {"BX": "block_threads"}, "device": "nvidia-rtx-4090"}
    out["predict"] = session.predict(run, own, **by_name)
    out["predictOne"] = [session.predict("study.json", own[0], **by_name), session.predict(run, {**own[0], "BX": 4096, "gridBlocks": 0}, why=True, **by_name)]
    out["predictNothing"] = failure(lambda: session.predict(run, {}, device="nvidia-rtx-4090"))

    # A study as a dict, with the lengths in a list.
    with open("study.json", encoding="utf-8") as file:
        study = json.load(file)
    study["workload"] = {"lengths": lengths * 100}
    study["devices"] = ["nvidia-rtx-4090"]
    out["units"] = session.call("runs.get", id=session.sweep(study)["runId"])["study"]["workload"]["units"]

    # Lengths in memory, for a device by the name of its driver, and for the GPU that PyTorch or CuPy says it uses.
    many = array(lengths * 100, 800)
    cuda = types.SimpleNamespace(
        is_available=lambda: True,
        current_device=lambda: 0,
        get_device_properties=lambda used: types.SimpleNamespace(name="NVIDIA H100 80GB HBM3", multi_processor_count=132),
    )
    facts = {"name": b"NVIDIA A100-SXM4-40GB", "multiProcessorCount": 108}
    runtime = types.SimpleNamespace(getDevice=lambda: 0, getDeviceProperties=lambda used: facts)
    known = {"registersPerThread": 32, "instructionsPerIteration": 30}
    rows_of_torch = types.SimpleNamespace(layout="torch.sparse_csr", crow_indices=lambda: rows.indptr)
    out["ofLengths"] = [session.recommend(many, device="NVIDIA GeForce RTX 4090"), session.recommend(rows_of_torch, device="amd-mi250x-gcd", kernel=known)]
    out["noGpu"] = [
        failure(lambda: session.recommend(many)),
        failure(lambda: session.recommend(many, device="GTX 9999")),
        failure(lambda: session.recommend("study.json", kernel=known)),
        failure(lambda: session.recommend(many, device="nvidia-rtx-4090", kernel={"registers": 1})),
    ]
    sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
    out["ofLengths"].append(session.recommend(many, kernel=known))
    sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: False))
    sys.modules["cupy"] = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: True, runtime=runtime))
    out["ofLengths"].append(session.recommend(many, kernel="study.json"))
    del sys.modules["torch"], sys.modules["cupy"]

    # A measuring function that is interrupted, and fails for large blocks. A second call continues.
    tried = []

    def measure(design):
        tried.append(design)
        if len(tried) == 6:
            raise KeyboardInterrupt
        if design["blockThreads"] == 512:
            raise RuntimeError("too large")
        time_ms = design["threadsPerUnit"] / 8 + 100 / design["blockThreads"]
        return [time_ms, time_ms] if design["blockThreads"] == 64 else time_ms

    axes = {"threadsPerUnit": [1, 2, 4, 8, 16, 32], "balancing": ["none"], "blockThreads": [64, 128, 256, 512], "blocksPerMultiprocessor": [2]}
    small = {**study, "workload": {"lengths": "geometric(0.05)", "units": 100_000}, "axes": axes}
    predicted = session.sweep(small)
    try:
        session.tune(predicted, measure, budget=18, within=1e-9)
    except KeyboardInterrupt:
        out["interrupted"] = session.call("bench.next", runId=predicted["runId"], target="caller:measure")
    interrupted_run = session.call("runs.list", limit=1)[0]["id"]
    out["callers"] = [
        failure(lambda: session.call("runs.resume", id=interrupted_run)),
        failure(lambda: session.call("bench.probe", target="caller:measure", runId=predicted["runId"])),
        failure(lambda: session.tune(predicted, measure, repeats=3)),
    ]
    out["measured"] = session.tune(predicted, measure, budget=18, within=1e-9)
    out["tried"] = tried
    out["unusable"] = session.tune(small, lambda design: float("inf"), budget=1)

    # An object that yields itself: iterating over rows of a sparse matrix also yields sparse matrices without end.
    endless = type("Endless", (), {"__iter__": lambda self: iter([type(self)()])})()
    out["failures"] = [
        failure(lambda: session.sweep({**study, "axes": {"blockThreads": [0]}})),
        failure(lambda: session.rank(999)),
        failure(lambda: session.loss([1.5])),
        failure(lambda: session.loss([float("nan")])),
        failure(lambda: session.loss(array([[1, 2], [3, 4]], 2, 2))),
        failure(lambda: session.sweep({**study, "workload": {"lengths": types.SimpleNamespace(shape=(2, 1))}})),
        failure(lambda: session.call("models.loss", workload=endless)),
        failure(lambda: session.sweep("missing.json")),
        failure(lambda: session.tune(run)),
        failure(lambda: lockstep.frame(run)),
        failure(lambda: lockstep.Lockstep(program="/nowhere/lockstep").loss([1])),
        failure(lambda: lockstep.Lockstep(program=sys.executable + " -c 'print(7)'").loss([1])),
    ]

    # A line of this length would end the program, so the module has to refuse it.
    limit, lockstep._MAX_ARGUMENT_BYTES = lockstep._MAX_ARGUMENT_BYTES, 1000
    out["failures"].append(failure(lambda: session.loss([1] * 1000)))
    lockstep._MAX_ARGUMENT_BYTES = limit

    # Many threads call at once, and each must get the answer to its own call.
    means = [None] * 300

    def ask(i):
        means[i] = session.loss([i + 1], n=1)["workload"]["mean"]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(means))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out["threads"] = means == [i + 1 for i in range(len(means))]

    # Stand-ins for pandas and matplotlib record how they are called.
    sys.modules["pandas"] = types.SimpleNamespace(DataFrame=lambda rows: rows)
    out["frame"] = lockstep.frame(run)
    out["historyFrame"] = lockstep.frame(out["measured"])

    class Axes:
        def __init__(self):
            self.calls = []

        def __getattr__(self, name):
            return lambda *args, **options: self.calls.append([name, *args])

    for name, result in (("lossPlot", out["listed"]), ("timePlot", out["simulate"])):
        axes = Axes()
        lockstep.plot(result, ax=axes)
        out[name] = axes.calls
    process = session._child._process
out["status"] = process.returncode
out["again"] = session.loss([5], n=1)["workload"]["mean"]  # starts the program again
out["processId"] = session._child._process.pid
print(json.dumps(out), flush=True)
os.kill(os.getpid(), signal.SIGKILL)  # the program ends with a parent that cannot close it
