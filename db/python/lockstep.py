"""Lockstep in Python: how irregular work should be mapped onto a SIMT device.

    import lockstep

    lockstep.loss([3, 1, 40, 7], n=[2, 4])             # the cost of lockstep for these lengths
    run = lockstep.sweep("study.json")                 # predicts, ranks and saves every design
    lockstep.rank(run, top=5)                          # the best designs
    lockstep.recommend("study.json")["why"]            # one design, and the reason
    lockstep.recommend(lengths, device="auto")         # for lengths in memory and the GPU that PyTorch or CuPy uses
    lockstep.predict(run, {"BX": 128, "TX": 4}, map={"BX": "block_threads", "TX": "threads_per_unit"})       # milliseconds
    lockstep.tune(run, exec="./spmv --threads {threadsPerUnit}")
    lockstep.tune(run, measure)                        # measure(design) returns milliseconds

This module needs Python 3.8 or newer and only the standard library. With pandas, ``frame(result)`` makes a DataFrame;
with matplotlib, ``plot(result)`` draws a result. ``lockstep python`` wrote this file, and writes it for each version.

The functions call one program, ``lockstep rpc``, which starts at the first call and ends with this process. Its
command is the environment variable LOCKSTEP, or ``lockstep`` on the PATH, or the command that wrote this file.
``Lockstep(db=...)`` starts another one with its own database, and is a context manager. Several threads may use this
module.

A study is the path of a study file, or its content as a dict. In the dict, ``workload["lengths"]`` may also be a list
or an array of whole numbers, or a sparse matrix of SciPy, CuPy or PyTorch, whose rows give the lengths.
``recommend`` also takes such lengths directly. A run is its number, or the result of ``sweep``. Times are in
milliseconds, sizes in bytes; unknown values are None. The answers are those of the contract (src-main/contract); the
types here name the most important fields.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import math
import numbers
import os
import platform
import queue
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, TypedDict, Union

__all__ = ["Lockstep", "LockstepError", "call", "close", "frame", "loss", "plot", "predict", "rank", "recommend", "simulate", "sweep", "tune"]

# The program that wrote this file.
_WRITTEN_BY: List[str] = []

# Maximum number of simultaneous calls of a connection.
_MAX_CALLS = 200
# Maximum size of the arguments: the limit of a line, minus some bytes for the name of the call.
_MAX_ARGUMENT_BYTES = 256 * 2**20 - 1000
# Seconds to wait for the program at the end. The program itself waits up to 10 seconds for its last calls.
_LAST_SECONDS = 15
_DESIGNS_PER_STEP = 4
_DESIGNS_PER_CALL = 50_000

# Also an array, a tensor, or a sparse matrix whose rows are units.
Lengths = Union[str, Sequence[int]]
Study = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Run = Union[int, Mapping[str, Any]]
# Takes a design, and returns its time, or the times of several repeats, in milliseconds.
Measure = Callable[["Design"], Union[float, Sequence[float]]]


class LockstepError(Exception):
    """A call that failed, with the reason in plain words.

    code: bad-input, not-found, conflict, unsupported, storage, cancelled or internal (a bug).
    field: the wrong field of the study or argument, such as ``axes.blockThreads[3]``; None if there is none.
    context: more about the place, such as a line and a column of a file.
    """

    def __init__(self, code: str, message: str, context: Optional[Mapping[str, Any]] = None):
        super().__init__(message)
        self.code = code
        self.context = dict(context or {})
        self.field: Optional[str] = self.context.get("field")


class GivenLoss(TypedDict):
    """The loss of groups of consecutive units, in the given order; each at least 1."""

    aggregateLoss: float
    meanLoss: float


class LossRow(TypedDict):
    """The loss of groups of n independent units: time in lockstep over time alone, at least 1."""

    n: int
    meanLoss: float
    standardDeviationLoss: float
    aggregateLoss: float  # total time in lockstep over total work
    givenOrder: Optional[GivenLoss]
    quantiles: Optional[Dict[str, float]]  # p50, p95, p99
    distribution: Optional[Dict[str, Any]]  # how the quantiles were computed, and their largest relative error


class Loss(TypedDict):
    workload: Dict[str, Any]  # label, mean, standardDeviation, supportMin, supportMax, truncatedMass, fitted
    rows: List[LossRow]


class Design(TypedDict, total=False):
    implementation: str
    threadsPerUnit: int
    unitsPerThread: int
    loop: str
    balancing: str
    blockThreads: int
    blockWidth: int  # threads side by side, if a block takes a tile of an image
    gridBlocks: int
    registerCap: Optional[int]


class Row(TypedDict, total=False):
    """A design of a run. The fidelity of timeMs differs between rows, so compare predictedMs."""

    rank: int
    tied: bool  # cannot be distinguished from the fastest
    designIndex: int
    deviceId: str
    device: str
    design: Design
    timeMs: float  # at the best available fidelity: measured, simulated or predicted
    fidelity: str
    predictedMs: float
    simulated: Optional[Dict[str, Any]]
    measured: Optional[Dict[str, Any]]
    meanLoss: float
    aggregateLoss: float
    occupancyFraction: float  # 0 to 1
    residentBlocks: int  # per multiprocessor
    waves: float
    limitedBy: List[str]


class Sweep(TypedDict):
    runId: int
    study: str
    designs: Dict[str, int]  # enumerated, valid, invalid
    invalidReasons: List[Dict[str, Any]]  # reason, text, count
    elapsedMs: float
    best: List[Row]
    bestOfDevices: List[Row]
    recommended: Optional[Dict[str, Any]]  # row, ties, rule, inputs
    inputs: Dict[str, List[Dict[str, Any]]]  # by device: the inputs of the times
    tieBand: Dict[str, Any]
    partial: Optional[str]  # a remark if only a part of the designs is predicted


class Recommendation(TypedDict):
    """The design and its figures have two names: as in the row of a run, and as in ``lockstep recommend --json``.

    row["design"], row["rank"], row["kind"] and row["hasEvidence"] are also design, rank, implementationKind and
    hasEvidence. The parts of uncertainty are also robust (with its chance and draws), point, designs, unknown,
    worthKnowing (each input by its field) and separation.
    """

    device: Dict[str, Any]
    devices: List[Dict[str, Any]]
    row: Row
    designIndex: int
    time: Dict[str, Any]  # ms, lowMs, highMs, basis
    ties: Dict[str, Any]
    baseline: Optional[Dict[str, Any]]
    causes: List[Dict[str, Any]]
    why: str
    inputs: List[Dict[str, Any]]
    design: Design
    rank: int
    implementationKind: str
    hasEvidence: bool
    # For a run, the following fields are only there with robust=True.
    uncertainty: Dict[str, Any]
    robust: Dict[str, Any]
    point: Dict[str, Any]
    designs: List[Dict[str, Any]]
    unknown: List[Dict[str, Any]]
    worthKnowing: List[Dict[str, Any]]
    separation: Optional[Dict[str, Any]]


class Tuning(TypedDict):
    runId: int
    considered: int
    measured: int
    failed: int
    best: Optional[Dict[str, Any]]  # designIndex, design, measuredMs, expectedMs, predictedMs
    expectedRegret: Optional[float]
    skill: Optional[float]  # rank correlation of predicted and measured times
    stopped: str  # within, budget or all-measured
    history: List[Dict[str, Any]]  # designIndex, design, runId, predictedMs, measuredMs: all measurements, in order
    steps: List[Dict[str, Any]]  # runId, designs, failures of measure (by design), and the estimate at that time


class Lockstep:
    """One ``lockstep rpc``, which starts at the first call, and again after ``close``.

    db: the database file; by default the one in the data folder.
    program: the command that runs Lockstep; by default it is searched.
    """

    def __init__(self, db: Union[str, os.PathLike, None] = None, program: Optional[str] = None):
        self._options = [] if db is None else ["--db", os.path.abspath(os.fspath(db))]
        self._program = program
        self._start_anew()

    def _start_anew(self) -> None:
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_MAX_CALLS)
        self._child: Optional[_Child] = None

    def __enter__(self) -> "Lockstep":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the program. All that it saved is kept, and an incomplete run can be resumed."""
        with self._lock:
            child, self._child = self._child, None
        _open.discard(self)
        if child is not None:
            child.close()

    def call(self, procedure: str, **arguments: Any) -> Any:
        """Calls any procedure of the contract, as in ``call("devices.get", ids=["nvidia-a100-pcie-40gb"])``.

        Bytes are sent and returned as bytes, arrays as lists; NaN is returned as None. Raises LockstepError on failure.
        """
        with self._lock:
            if self._child is None or self._child.ended:
                self._child = _Child([*_command(self._program), "rpc", *self._options])
                _open.add(self)
            child = self._child
        with self._slots:
            return child.call(procedure, arguments)

    def loss(
        self,
        lengths: Lengths,
        n: Union[int, Sequence[int]] = (2, 4, 8, 16, 32),
        *,
        quantiles: bool = False,
        truncation: Optional[float] = None,
    ) -> Loss:
        """The cost of lockstep for a workload, for n units in a group: mean loss, its deviation, and aggregate loss.

        lengths: the iterations of each unit in order, whole numbers from 0; or a sparse matrix of SciPy (the entries of
            each row); or a text such as ``geometric(0.05)`` or ``file:lengths.csv``, relative to the current folder.
        quantiles: also return quantiles of the loss, which take up to half a second for each n.
        truncation: the probability that is cut from an infinite law; 1e-6 by default.
        """
        workload = {"lengths": lengths if isinstance(lengths, str) else _lengths(lengths), **_given(truncation=truncation)}
        sizes = [n] if isinstance(n, numbers.Integral) else list(n)
        return self.call("models.loss", workload=workload, n=sizes, quantiles=quantiles, folder=os.getcwd())

    def sweep(self, study: Study, *, top: int = 10, devices: Optional[Sequence[str]] = None) -> Sweep:
        """Predicts every design of a study, saves the run, and returns its best designs.

        Ctrl-C cancels the run and keeps what was saved.

        devices: these devices instead of the study's; ``ID:66`` is 66 multiprocessors of a device.
        """
        start = time.perf_counter()
        run = self._finished("runs.start", **self._study(study, devices))
        best = self.call("ranking.best", runId=run["id"], limit=top)
        return {
            "runId": run["id"],
            "study": best["study"],
            "designs": {name: run[name] for name in ("enumerated", "valid", "invalid")},
            "invalidReasons": best["invalid"],
            "elapsedMs": 1000 * (time.perf_counter() - start),
            "best": best["rows"],
            "bestOfDevices": best["ofDevices"],
            "recommended": best["recommended"],
            "inputs": best["inputs"],
            "tieBand": best["tieBand"],
            "partial": best["partial"],
        }

    def rank(self, run: Run, *, top: int = 10, device: Optional[str] = None, groups: bool = False) -> List[Row]:
        """The best designs of a run, or of one device of it.

        groups: one row for designs whose differences have no effect; ``equal`` is the number of designs in a row.
        """
        best = self.call("ranking.best", runId=_run_id(run), limit=top, groups=groups, **_given(deviceId=device))
        if best["equal"] is None:
            return best["rows"]
        return [{**row, "equal": equal} for row, equal in zip(best["rows"], best["equal"])]

    def simulate(
        self, run: Run, *, top: int = 20, device: Optional[str] = None, designs: Optional[Sequence[int]] = None
    ) -> List[Dict[str, Any]]:
        """Simulates designs of a run event by event, and returns them by simulated time.

        Each has ``simulated`` (meanMs with its 95 % interval lowMs to highMs, medianMs, replications, ...),
        ``predictedMs`` and ``difference``, the prediction over the simulated mean, minus 1.
        """
        how = _given(deviceId=device, designs=None if designs is None else list(designs))
        done = self._finished("simulations.start", runId=_run_id(run), top=top, **how)
        return self.call("simulations.list", runId=done["id"])

    def recommend(
        self,
        what: Union[Study, Run, Lengths],
        *,
        device: Optional[str] = None,
        kernel: Union[Mapping[str, Any], str, "os.PathLike[str]", None] = None,
        robust: Optional[bool] = None,
    ) -> Recommendation:
        """Recommends one design for a study, a run or lengths, with the reason, its expected time and its assumptions.

        Nothing is saved. For a study, it is the design that ``lockstep recommend`` names: the simplest whose mean time
        over the assumed inputs is within 1.5 % of the least. "uncertainty" says how sure that is, and what is worth
        knowing. Regrets in it are natural logarithms of ratios of times: 0.1548 is 16.7 %. For a run, it is the best
        design of its ranking, where each assumed input has its middle value, unless robust is True.

        The design is ["design"], as in ``lockstep recommend --json``, and also ["row"]["design"]; see Recommendation.

        device: only this device; for a study also a part of one, such as ``nvidia-h100-sxm5-80gb:66``. With lengths, it
            may also be the name that a driver reports, or "auto": the GPU that PyTorch or CuPy uses in this process.
        kernel: with lengths, what is known about the kernel: the fields of a study's kernel, or the path of a study
            with these fields, as ``lockstep kernel inspect SOURCE --into STUDY`` writes it.
        robust: True weighs the assumed inputs for a run too, as ``lockstep recommend RUN`` does. This takes up to some
            seconds instead of milliseconds. False does not weigh them, also for a study.
        """
        if not _is_run(what) and not isinstance(what, (str, os.PathLike, Mapping)):
            what, device = self._study_of(what, kernel, device or "auto"), None
        elif kernel is not None:
            raise LockstepError("bad-input", "kernel goes with lengths: a study and a run have their own.", {"field": "kernel"})
        if _is_run(what):
            about: Dict[str, Any] = {"runId": _run_id(what)}
        else:
            about = self._study(what, [device] if device is not None and ":" in device else None)
        about.update(_given(deviceId=device))
        answer = self.call("advice.recommend", **about, robust=not _is_run(what) if robust is None else robust)
        del answer["landscape"]
        return {**answer, **_as_printed(answer)}

    def predict(
        self,
        what: Union[Study, Run],
        parameters: Union[Mapping[str, Any], Iterable[Mapping[str, Any]]],
        *,
        map: Optional[Mapping[str, Optional[str]]] = None,
        device: Optional[str] = None,
        why: bool = False,
    ) -> Any:
        """Predicted time of a design, in milliseconds, as a cost function: None if the design cannot run.

        For a list of designs it returns a list in the same order, which is faster than single calls.

        what: a study, or a run.
        parameters: a dict, whose values need not be on the axes of the study: threads_per_unit, units_per_thread or
            grid_blocks, block_threads, loop, balancing, register_cap (0 is none), ..., with the names of exports and of
            the designs of ``rank``. An omitted parameter has the study's only value. Other names are ignored.
        map: parameters with other names, such as ``{"BX": "block_threads"}``; None marks a name to ignore.
        device: the device, if the study has several.
        why: also return why there is no time, as in ``(None, "one block needs more registers than a multiprocessor has")`` or
            ``(0.4, None)``.
        """
        asked = [parameters] if isinstance(parameters, Mapping) else list(parameters)
        about = {"runId": _run_id(what)} if _is_run(what) else self._study(what)
        about.update(_given(deviceId=device, parameters=map))
        found: List[Any] = []
        for first in range(0, len(asked), _DESIGNS_PER_CALL):
            part = asked[first : first + _DESIGNS_PER_CALL]
            answer = self.call("advice.predict", **about, designs=part)
            found.extend(zip(answer["timesMs"], answer["reasons"]) if why else answer["timesMs"])
        return found[0] if isinstance(parameters, Mapping) else found

    def tune(
        self,
        run: Union[Study, Run],
        measure: Optional[Measure] = None,
        *,
        target: Optional[str] = None,
        exec: Optional[str] = None,
        build: Optional[str] = None,
        kernel: Union[str, os.PathLike, None] = None,
        device: Optional[str] = None,
        budget: int = 40,
        seconds: Optional[float] = None,
        within: float = 0.03,
        repeats: Optional[int] = None,
        warm_ups: Optional[int] = None,
    ) -> Tuning:
        """Finds the fastest design of a sweep with few measurements.

        It measures some designs, corrects the predictions, and chooses the next designs. The same call continues a
        stopped tuning.

        run: a sweep, or a study, which is predicted first; the runId of the answer is then its sweep.
        measure: a function that runs a design, a dict such as ``{"threadsPerUnit": 4, "blockThreads": 128, ...}``, and
            returns its time in milliseconds, or the times of several repeats. If it raises an Exception, or returns
            anything but times above 0, the design has failed and is not proposed again. Ctrl-C keeps all measurements.
            The times count as those of the designs' device. A function continues the tuning of an earlier function with
            its name, so rename it if it measures something else.
        target: cuda:0, hip:0, webgpu or cpu, in place of measure.
        exec: the command that runs your own program for a launch, with placeholders such as ``{blockThreads}``, in the
            current folder; build: the command that makes ``{binary}``.
        kernel: the manifest of your own kernel, for the target.
        budget: maximum number of measured designs. seconds: time limit.
        within: stop if, with a probability of 90 %, the best design is at most this fraction slower than the fastest.
        """
        if [measure, target, exec].count(None) != 2:
            raise LockstepError("bad-input", "Specify one of measure, target and exec.")
        if measure is not None:
            if build is not None or kernel is not None or repeats is not None or warm_ups is not None:
                raise LockstepError(
                    "bad-input", "A function builds and repeats by itself. Omit build, kernel, repeats and warm_ups."
                )
            target, repeats, warm_ups = f"caller:{_name(measure)}", 1, 0
        if not _is_run(run):
            run = self.sweep(run)
        program = None if exec is None else {"exec": exec, "build": build, "folder": os.getcwd()}
        sweep = {
            "runId": _run_id(run),
            "target": target if exec is None else "program",
            **_given(program=program, deviceId=device),
            **({} if kernel is None else {"kernel": {"file": os.path.abspath(os.fspath(kernel))}}),
        }
        launches = _given(repeats=repeats, warmUps=warm_ups)
        start = time.monotonic()
        steps: List[Dict[str, Any]] = []

        def stop(step: Dict[str, Any], left: int) -> Optional[str]:
            if step["expectedRegret"] is not None and step["expectedRegret"] <= within:
                return "within"
            if not step["next"]:
                return "all-measured"
            return "budget" if left <= 0 or (seconds is not None and time.monotonic() - start >= seconds) else None

        while True:
            step = self.call("bench.next", **sweep, count=_DESIGNS_PER_STEP)
            tried = step["measured"] + step["failed"]
            if steps:
                if steps[-1]["tried"] == tried:
                    raise LockstepError(
                        "unsupported",
                        "The last step ran on another device than the earlier measurements, so it does not count. "
                        "Predict a new run for this device.",
                    )
                steps[-1].update({name: step[name] for name in ("measured", "failed", "best", "expectedRegret")})
            stopped = stop(step, budget - tried)
            if stopped is not None:
                break
            designs = step["next"][: budget - tried]
            failures: Dict[int, str] = {}
            meanwhile = None if measure is None else lambda run_id: self._measured(run_id, measure, failures)
            done = self._finished("bench.start", meanwhile, **sweep, choose="named", designs=designs, **launches)
            steps.append({"runId": done["id"], "designs": designs, "tried": tried, **({"failures": failures} if failures else {})})
        for one in steps:
            del one["tried"]
        del step["next"]
        return {**step, "stopped": stopped, "steps": steps}

    def _forget(self) -> None:
        """In a fork, closes the pipes here, because the program answers only the parent."""
        child = self._child
        self._start_anew()
        if child is not None:
            child.forget()

    def _measured(self, run_id: int, measure: Measure, failures: Dict[int, str]) -> None:
        """Measures the designs of a waiting run, and sends each result at once."""
        start = time.monotonic()
        (device,) = self.call("runs.get", id=run_id)["devices"]
        known: Dict[str, Any] = {"type": "device", "backend": "program", "name": device["name"]}
        known.update(fingerprint=f"{device['id']}|{platform.node()}", driver="", versions={"Python": platform.python_version()})
        known.update(multiprocessors=device.get("multiprocessors"), threadGroupWidth=None, clockMhz=None, timer=None, properties={})
        self.call("bench.record", id=run_id, records=[known])
        for case in self.call("bench.plan", id=run_id)["cases"]:
            try:
                found = measure(dict(case["parameters"]["design"]))
                times = [float(one) for one in (found if hasattr(found, "__iter__") else [found])]
                if not times or not all(0 < one < math.inf for one in times):
                    raise ValueError(f"{_name(measure)} returned {found!r}. Return milliseconds above 0")
                rows = [{"type": "sample", "repeat": i, "warmUp": False, "timeNs": 1e6 * one, "clockMhz": None} for i, one in enumerate(times)]
            except Exception as error:
                failures[case["parameters"]["designIndex"]] = message = f"{type(error).__name__}: {error}"[:10000]
                rows = [{"type": "failed", "message": message}]
            self.call("bench.record", id=run_id, records=[{**row, "case": case["id"]} for row in rows])
        self.call("bench.record", id=run_id, records=[{"type": "done", "elapsedMs": 1000 * (time.monotonic() - start)}])

    def _finished(self, procedure: str, meanwhile: Optional[Callable[[int], None]] = None, **arguments: Any) -> Dict[str, Any]:
        """Starts a run and waits for its end."""
        run_id = self.call(procedure, **arguments)["runId"]
        try:
            if meanwhile is not None:
                meanwhile(run_id)
            run = self.call("runs.wait", id=run_id)
        except BaseException:
            # A program that has ended must not be started again. Cancelling a run that has ended fails.
            if self._child is not None and not self._child.ended:
                with contextlib.suppress(LockstepError):
                    self.call("runs.cancel", id=run_id)
            raise
        if run["state"] == "cancelled":
            raise LockstepError("cancelled", f"Run {run_id} was cancelled. lockstep runs resume {run_id} continues.")
        return run

    def _study(self, study: Study, devices: Optional[Sequence[str]] = None) -> Dict[str, Any]:
        """A study in the form of the contract, with the folder of its files. Lengths in memory are stored first."""
        folder = os.getcwd()
        if not isinstance(study, Mapping):
            path = os.path.abspath(os.fspath(study))
            folder = os.path.dirname(path)
            try:
                with open(path, encoding="utf-8-sig") as file:
                    study = json.load(file)
            except OSError as error:
                raise LockstepError("not-found", f"{path} cannot be read ({error.strerror}).") from error
            except ValueError as error:
                raise LockstepError("bad-input", f"{path} is not JSON: {error}.") from error
        study = dict(study)
        workload = study.get("workload")
        if isinstance(workload, Mapping) and not isinstance(workload.get("lengths", ""), str):
            study["workload"] = {**self._stored(workload["lengths"]), **{name: workload[name] for name in workload if name != "lengths"}}
        if devices is not None:
            study["devices"] = list(devices)
        return {"study": study, "folder": folder}

    def _stored(self, lengths: Lengths) -> Dict[str, Any]:
        """Stores lengths that are in memory, and returns their workload."""
        text = "\n".join(str(length) for length in _lengths(lengths))
        stored = self.call("workload.upload", fileName="lengths.csv", bytes=f"length\n{text}\n".encode())
        return {name: stored[name] for name in ("lengths", "units")}

    def _study_of(self, lengths: Lengths, kernel: Any, device: str) -> Dict[str, Any]:
        """A study of lengths, with usual values for unknown fields of the kernel."""
        if kernel is not None and not isinstance(kernel, Mapping):
            kernel = self._study(kernel)["study"].get("kernel", {})
        if kernel is not None:
            kernel = {name: value for name, value in kernel.items() if name != "name"}
        about = _this_gpu(lengths) if device == "auto" else {"name": device}
        return self.call("studies.new", **self._stored(lengths), device=about, **_given(kernel=kernel))


class _Child:
    """A running ``lockstep rpc``, and the thread that reads its answers."""

    def __init__(self, command: Sequence[str]):
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=os.name == "posix",  # this process handles Ctrl-C
            )
        except OSError as error:
            self._errors.close()
            raise LockstepError("not-found", f"{command[0]} cannot be started ({error.strerror}). {_ADVICE}") from error
        self.ended = False
        self._said = ""
        self._lock = threading.Lock()
        self._waiting: Dict[int, "queue.SimpleQueue[Mapping[str, Any]]"] = {}
        self._last_id = 0
        self._reader = threading.Thread(target=self._read, name="lockstep", daemon=True)
        self._reader.start()

    def call(self, procedure: str, arguments: Mapping[str, Any]) -> Any:
        answer: "queue.SimpleQueue[Mapping[str, Any]]" = queue.SimpleQueue()
        try:
            given = json.dumps(arguments, allow_nan=False, default=_plain)
        except (TypeError, ValueError, RecursionError) as error:
            raise LockstepError("bad-input", f"The arguments are not JSON: {error}.") from error
        # This JSON is ASCII, so a character is a byte.
        if len(given) > _MAX_ARGUMENT_BYTES:
            raise LockstepError(
                "bad-input",
                f"{procedure}: The arguments have {len(given)} bytes; the limit is {_MAX_ARGUMENT_BYTES}. Name a file instead, as in file:lengths.npy.",
            )
        with self._lock:
            self._last_id += 1
            line = f'{{"id":{self._last_id},"call":{json.dumps(procedure)},"arguments":{given}}}\n'
            if not self.ended:
                self._waiting[self._last_id] = answer
                try:
                    self._process.stdin.write(line.encode())
                    self._process.stdin.flush()
                except OSError:
                    pass  # the program has ended, and the reader reports it
                except BaseException:
                    self._process.kill()  # an incomplete line was written
                    raise
            else:
                answer.put({"error": self._failure()})
        message = answer.get()
        if "error" in message:
            error = message["error"]
            said, name = error["message"], f"{procedure}: "
            raise LockstepError(error["code"], said[len(name) :] if said.startswith(name) else said, error.get("context"))
        return message["result"]

    def close(self) -> None:
        with self._lock:
            try:
                self._process.stdin.close()
            except OSError:
                pass
        try:
            self._process.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def forget(self) -> None:
        # Closes the raw files, because a thread of the parent may hold the locks of the buffers.
        self._process.stdin.raw.close()
        self._process.stdout.raw.close()

    def _read(self) -> None:
        for line in self._process.stdout:
            try:
                message = json.loads(line, object_hook=_revived)
                answer = self._waiting.pop(message["id"])
            except (ValueError, KeyError, TypeError):
                # The line belongs to no call, so the program is not Lockstep or has another version.
                self._process.kill()
                break
            answer.put(message)
        self._process.stdout.close()
        self._process.wait()
        with self._lock:
            self.ended = True
            failure = self._failure()
            for answer in self._waiting.values():
                answer.put({"error": failure})
            self._waiting.clear()
        self._errors.close()

    def _failure(self) -> Mapping[str, Any]:
        if not self._errors.closed:
            self._errors.seek(0)
            lines = self._errors.read()[-2000:].decode(errors="replace").split("\n")
            self._said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        said = f": {self._said}" if self._said else ""
        return {"code": "cancelled", "message": f"The Lockstep program has ended (status {self._process.returncode}){said}"}


def frame(result: Any) -> Any:
    """The rows of any answer as a pandas DataFrame, one column per figure; the fields of a design keep their names.

    The rows of a tuning are its measurements, in order.

    Raises LockstepError (unsupported) without pandas.
    """
    try:
        import pandas
    except ImportError as error:
        raise LockstepError("unsupported", "A DataFrame needs pandas: pip install pandas.") from error
    return pandas.DataFrame([_flat(row) for row in _rows(result)])


def plot(result: Any, ax: Any = None) -> Any:
    """Draws the losses over n, or the times of designs, fastest first. Returns the axes of matplotlib.

    Raises LockstepError (unsupported) without matplotlib.
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise LockstepError("unsupported", "A plot needs matplotlib: pip install matplotlib.") from error
        ax = pyplot.subplots()[1]
    rows = _rows(result)
    if rows and "n" in rows[0]:
        for field, label in (("meanLoss", "mean"), ("aggregateLoss", "aggregate")):
            ax.plot([row["n"] for row in rows], [row[field] for row in rows], marker="o", label=label)
        ax.set_xscale("log")
        ax.set_xticks([row["n"] for row in rows], [str(row["n"]) for row in rows])
        ax.minorticks_off()
        ax.set_xlabel("units per group")
        ax.set_ylabel("loss")
        ax.legend()
        return ax
    names = [str(row["designIndex"]) for row in rows]
    ax.plot([row["predictedMs"] for row in rows], names, "|", markersize=16, markeredgewidth=2, label="predicted")
    for field, time_field, marker in (("simulated", "meanMs", "o"), ("measured", "medianMs", "s")):
        known = [row for row in rows if row.get(field)]
        if known:
            places = [str(row["designIndex"]) for row in known]
            ax.plot([row[field][time_field] for row in known], places, marker, label=field)
    ax.invert_yaxis()
    ax.set_ylabel("design")
    ax.set_xlabel("time, ms")
    ax.legend()
    return ax


def _rows(result: Any) -> List[Mapping[str, Any]]:
    if isinstance(result, Mapping):
        for name in ("history", "rows", "best", "row"):
            if isinstance(result.get(name), (list, Mapping)):
                result = result[name]
                break
    return [result] if isinstance(result, Mapping) else list(result)


def _flat(row: Mapping[str, Any]) -> Dict[str, Any]:
    """A row without nesting: {"simulated": {"meanMs": 1}} becomes {"simulated.meanMs": 1}."""
    out: Dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            out.update({inner if name == "design" else f"{name}.{inner}": one for inner, one in value.items()})
        elif value is not None:
            out[name] = value
    return out


def _as_printed(answer: Mapping[str, Any]) -> Dict[str, Any]:
    """The parts of a recommendation under their names in ``lockstep recommend --json``."""
    row = answer["row"]
    named = {"design": row["design"], "rank": row["rank"], "implementationKind": row["kind"], "hasEvidence": row["hasEvidence"]}
    known = answer.get("uncertainty")
    if known is None:
        return named
    return {
        **named,
        **{name: known[name] for name in ("point", "designs", "unknown", "separation")},
        "robust": {**known["robust"], "chance": known["robust"]["chanceBest"], "draws": known["draws"]},
        "worthKnowing": [{**one, "input": one["input"]["field"], "label": one["input"]["label"]} for one in known["worthKnowing"]],
    }


def _is_run(what: Union[Study, Run]) -> bool:
    return isinstance(what, numbers.Integral) or (isinstance(what, Mapping) and "runId" in what)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)[:300]


def _run_id(run: Run) -> int:
    return run["runId"] if isinstance(run, Mapping) else run


def _given(**arguments: Any) -> Dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _lengths(value: Any) -> List[Any]:
    """Lengths as a list. Raises LockstepError (bad-input) for an array of several dimensions."""
    layout = str(getattr(value, "layout", ""))
    if layout.startswith("torch.sparse"):
        pointers = (value if layout == "torch.sparse_csr" else value.to_sparse_csr()).crow_indices().tolist()
        return [end - begin for begin, end in zip(pointers, pointers[1:])]
    if hasattr(value, "tocsr"):
        pointers = value.tocsr().indptr.tolist()
        return [end - begin for begin, end in zip(pointers, pointers[1:])]
    shape = tuple(getattr(value, "shape", (0,)))
    values = value.tolist() if hasattr(value, "tolist") else list(value) if len(shape) == 1 else None
    if values is None or sum(size != 1 for size in shape) > 1 or not shape:
        raise LockstepError(
            "bad-input", f"The lengths have the shape {shape}. Give an array of one dimension, with a length for each unit."
        )
    for _ in shape[1:]:
        values = [one for part in values for one in part]
    return [int(one) if isinstance(one, bool) else one for one in values]


def _this_gpu(lengths: Any) -> Dict[str, Any]:
    """The GPU that holds the lengths, or else the one that an imported PyTorch or CuPy uses."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_available():
        of_lengths = getattr(lengths, "device", None)
        used = of_lengths if getattr(of_lengths, "type", "") == "cuda" else torch.cuda.current_device()
        facts = torch.cuda.get_device_properties(used)
        return {"name": facts.name, "multiprocessors": facts.multi_processor_count}
    if cupy is not None and cupy.cuda.is_available():
        facts = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
        return {"name": facts["name"].decode(), "multiprocessors": facts["multiProcessorCount"]}
    raise LockstepError(
        "not-found",
        "PyTorch and CuPy use no GPU in this process. "
        'Name one: device="nvidia-h100-sxm5-80gb"; lockstep devices list shows all.',
        {"field": "device"},
    )


def _plain(value: Any) -> Any:
    """Converts values that json does not support: bytes, arrays and numbers of numpy and pandas, paths, sequences."""
    if isinstance(value, (bytes, bytearray)):
        return {"base64": base64.b64encode(value).decode()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return os.fspath(value) if isinstance(value, os.PathLike) else list(value)


def _revived(value: Dict[str, Any]) -> Any:
    return base64.b64decode(value["base64"]) if value.keys() == {"base64"} else value


_ADVICE = "Set the environment variable LOCKSTEP to the command that runs it, or add lockstep to the PATH."


def _command(program: Optional[str]) -> List[str]:
    named = program or os.environ.get("LOCKSTEP") or shutil.which("lockstep")
    if named:
        words = [named] if os.path.exists(named) else shlex.split(named)
        return ["node", *words] if words[0].endswith((".mjs", ".js")) else words
    if _WRITTEN_BY and all(os.path.exists(file) for file in _WRITTEN_BY):
        return _WRITTEN_BY
    raise LockstepError("not-found", f"Lockstep was not found. {_ADVICE}")


_open: Set[Lockstep] = set()


@atexit.register
def _close_all() -> None:
    for one in list(_open):
        one.close()


def _forget_all() -> None:
    for one in list(_open):
        one._forget()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


_shared = Lockstep()
call = _shared.call
close = _shared.close
loss = _shared.loss
sweep = _shared.sweep
rank = _shared.rank
predict = _shared.predict
simulate = _shared.simulate
recommend = _shared.recommend
tune = _shared.tune
