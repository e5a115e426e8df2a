import argparse
import contextlib
import ctypes
import hashlib
import importlib.util
import inspect
import statistics
import sys
import threading
import time

TOLERANCE = {"float64": 1e-7, "float32": 1.3e-6, "float16": 1e-3, "bfloat16": 1.6e-2, "float8_e4m3": 0.125, "float8_e5m2": 0.25,
             "complex128": 1e-7, "complex64": 1.3e-6}  # relative, by the beginnings of types' names


def benchmark(make_args, launch, context):
    """Runs the launch: checks what it computes, times it, prints a table."""
    parser = argparse.ArgumentParser(description="Times one recorded kernel launch.")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON")
    parser.add_argument("--repeat", type=int, default=0, metavar="N", help="launches to time (default: 0.3 s worth, 20 to 1000)")
    parser.add_argument("--launches", type=int, default=0, metavar="N", help="launch N times and end: for profilers")
    parser.add_argument("--serve", metavar="DIR", help="do what each line of standard input says: time a batch of launches, keep outputs, and others; DIR has temporary files of --interpreter")
    parser.add_argument("--candidate", metavar="FILE[:NAME]", help="call the function NAME of FILE in place of the recorded kernel, with the same arguments")
    parser.add_argument("--tolerance", type=float, metavar="SHARE", help="largest difference of equal outputs, as a share of the largest value (default: by type)")
    parser.add_argument("--trace", metavar="DIR", help="with --serve: write what Triton compiles and launches to DIR, by goproton")
    parser.add_argument("--interpreter", metavar="PROTON", help="with --serve: on a machine without a GPU, run kernels on the CPU by PROTON interpret")
    parser.add_argument("--save-outputs", metavar="FILE", help="keep what the first launch wrote")
    parser.add_argument("--against", metavar="FILE", help="compare with outputs that --save-outputs kept")
    options = parser.parse_args()
    plan = context["reproduce"]
    if options.tolerance is not None:
        TOLERANCE.update(dict.fromkeys(TOLERANCE, options.tolerance))
    if options.interpreter and options.serve and not torch.cuda.is_available():
        given = [word for word in sys.argv if word not in ("--interpreter", options.interpreter)]
        os.execve(options.interpreter, [options.interpreter, "interpret", "--device", "cpu", "--max-seconds", "240", "--python", sys.executable, "--", *given],
                  {**os.environ, "TMPDIR": options.serve})
    if options.trace:
        import goproton.trace

        try:
            goproton.trace.init(options.trace)
        except RuntimeError as error:
            print(f"no trace of the candidate: {error}", file=sys.stderr)
    if options.candidate:
        launch = _candidate(options.candidate, plan)
    grid, args = make_args()
    tensors = _tensors(args)
    device = next((t.device for t in tensors.values() if t.device.type != "cpu"), next((t.device for t in tensors.values()), torch.device("cuda:0")))
    runtime = getattr(torch, device.type)
    result = {"kernel": plan["kernel"], "grid": list(grid), "hash": plan["compile"].get("hash"), "torch": torch.__version__, "triton": triton.__version__,
              "device": runtime.get_device_name(device) if device.type != "cpu" else "CPU"}
    if options.launches:
        return _for_profiler(launch, grid, args, options.launches, runtime, plan, tensors)

    before = {name: t.clone() for name, t in tensors.items()}
    if options.candidate:  # an autotuner launches several times
        launch(grid, args)
        _restore(tensors, before)
    compiled = launch(grid, args)
    runtime.synchronize()
    after = {name: t.clone() for name, t in tensors.items()}
    written = _written(launch, grid, args, tensors, before, after, runtime)
    result["compiled"] = _compiled(compiled, plan)
    result["outputs"] = {name: _digest(after[name]) for name in written}
    result["check"] = {"recorded": _against_recording(after, plan),
                       "repeated": _again(launch, grid, args, tensors, before, after, written, runtime)}


    def keep(file):
        torch.save({name: after[name].cpu() for name in written}, file)

    def against(file):
        saved = torch.load(file, map_location=device, weights_only=True)
        # What only one of the two sides writes differs as well.
        return [_verdict(name, saved.get(name, before[name]), after[name]) for name in after if name in saved or name in written]

    moved = plan.get("bytes") or _bytes(tensors)
    if options.serve:
        _restore(tensors, before)
        work = {"bytes": moved, **({"flops" + plan.get("flops_width", "16"): plan["flops"]} if plan.get("flops") else {})}
        result.update(bytes=moved, flops=plan.get("flops", 0))
        return _serve(lambda: launch(grid, args), runtime, device, result, {"keep": keep, "against": against}, plan["kernel"], work)
    if options.save_outputs:
        keep(options.save_outputs)
    if options.against:
        result["check"]["against"] = against(options.against)

    _restore(tensors, before)
    after.clear()
    before.clear()
    times, method, floor = _times(lambda: launch(grid, args), options.repeat, runtime, device)
    result.update(_summary(times), method=method, floor_ms=floor, samples_ms=[round(t, 6) for t in times])
    result.update(bytes=moved, gb_per_s=moved / result["median_ms"] / 1e6)
    if plan.get("flops"):
        result.update(flops=plan["flops"], tflop_per_s=plan["flops"] / result["median_ms"] / 1e9)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    _print(result, plan)
    return 0 if all(c["ok"] for c in result["check"]["recorded"]) else 1


def _parts(name, value):
    """A value by name, or those in it."""
    if isinstance(value, (tuple, list)):
        for i, each in enumerate(value):
            yield from _parts(f"{name}[{i}]", each)
    else:
        yield name, value


def _tensors(args):
    """All tensors by name, each once, also those in descriptors and tuples."""
    found, seen = {}, set()
    for name, value in (part for arg in args.items() for part in _parts(*arg)):
        for inner in ("base", "storage", "data"):
            if not torch.is_tensor(value):
                value = getattr(value, inner, value)
        if torch.is_tensor(value) and value.numel():
            key = (value.data_ptr(), value.dtype, tuple(value.shape), value.stride())
            if key not in seen:
                seen.add(key)
                found[name] = _numbers(value)
    return found


def _distinct(tensor):
    """The tensor without the repetitions of expanded dimensions."""
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def _restore(tensors, saved):
    for name, tensor in tensors.items():
        target, source = _distinct(tensor), saved[name]
        for dim, size in enumerate(target.shape):
            source = source.narrow(dim, 0, size)
        target.copy_(source)


def _bytes(tensors):
    """Bytes of all tensors, those that share memory once: what the launch moves at least, if it uses all of them."""
    total, end = 0, {}
    for tensor in sorted(tensors.values(), key=lambda t: t.data_ptr()):
        tensor = _distinct(tensor)
        begin = tensor.data_ptr()
        size = tensor.numel() * tensor.itemsize
        begin, stop = max(begin, end.get(tensor.device, 0)), begin + size
        total += max(0, stop - begin)
        end[tensor.device] = max(end.get(tensor.device, 0), stop)
    return total


def _difference(want, got):
    """The largest absolute difference, and the largest absolute value of want. Two nan are equal."""
    most = scale = 0.0
    if want.is_complex():
        want, got = torch.view_as_real(want), torch.view_as_real(got)
    want, got = want.reshape(-1), got.reshape(-1)
    for a, b in zip(want.split(1 << 26), got.split(1 << 26)):
        a, b = a.double(), b.double()
        gap = torch.where((a == b) | (a.isnan() & b.isnan()), torch.zeros_like(a), (a - b).abs())
        most = max(most, torch.nan_to_num(gap, nan=float("inf")).max().item())
        finite = a[a.isfinite()]
        scale = max(scale, finite.abs().max().item() if finite.numel() else 0.0)
    return most, scale


def _verdict(name, want, got):
    want = _numbers(want).to(got.device)
    most, scale = _difference(want, got) if want.shape == got.shape else (float("inf"), 0.0)
    why = f"its shape is {list(got.shape)}, not {list(want.shape)}" if want.shape != got.shape else "nan or infinity where the other side has another value"
    kind = str(got.dtype).removeprefix("torch.")
    tolerance = next((t for name, t in TOLERANCE.items() if kind.startswith(name)), 0.0)
    check = {"argument": name, "max_abs_diff": most, "max_abs": scale, "ok": most <= tolerance * max(scale, 1e-3)}
    return check if most < float("inf") else dict(check, max_abs_diff=None, why=why)


def _digest(tensor):
    """A hash of a tensor's elements."""
    tensor = tensor.contiguous().cpu()
    return hashlib.blake2b(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.itemsize), digest_size=16).hexdigest()


def _against_recording(after, plan):
    """Compares with what a later launch of the trace found in the same tensors."""
    return [dict(_verdict(name, load_tensor(described["blob_path"]), after[name]), source=described["from"])
            for name, described in (plan.get("expected") or {}).items() if name in after]


def _written(launch, grid, args, tensors, before, after, runtime):
    """Names of the tensors that the launch changed. Where the recorded tensors already held its results, nothing changes; then they
    are the tensors of floats that are not nan any more after a launch that found them filled with nan."""
    written = [name for name in tensors if _difference(before[name], after[name])[0] != 0]
    if written:
        return written
    for name, tensor in tensors.items():
        if tensor.is_floating_point():
            _restore(tensors, before)
            filled = _distinct(tensor).fill_(float("nan")).clone()
            launch(grid, args)
            runtime.synchronize()
            if _difference(filled, _distinct(tensor))[0] != 0:
                written.append(name)
    return written


def _again(launch, grid, args, tensors, before, after, written, runtime):
    """Launches once more on the same inputs."""
    _restore(tensors, before)
    launch(grid, args)
    runtime.synchronize()
    return [_verdict(name, after[name], tensors[name]) for name in written]


def _compiled(compiled, plan):
    """Compares what the compiler made with what it made when the launch was recorded."""
    now = {"hash": getattr(compiled, "hash", None), "registers": getattr(compiled, "n_regs", None), "spills": getattr(compiled, "n_spills", None)}
    metadata = getattr(compiled, "metadata", None)
    for name in ("shared", "num_warps", "num_stages"):
        now[name] = getattr(metadata, name, None)
    now["same_as_recorded"] = now["shared"] == plan["compile"].get("shared") if now["shared"] is not None else None
    return now


def _times(launch, repeat, runtime, device):
    """Milliseconds of launches, each with a cold L2 cache; how they were taken; and what passes when nothing is launched."""
    flush = _flush(runtime, device)
    start, end = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    start.record()
    for _ in range(5):
        flush.zero_()
        launch()
    end.record()
    runtime.synchronize()
    each = max(start.elapsed_time(end) / 5, 0.01)
    repeat = repeat or min(max(int(300 / each), 20), 1000)
    try:
        times = _graph_times(launch, repeat, runtime, flush)
        return times, "CUDA graph", statistics.median(_graph_times(lambda: None, 50, runtime, flush))
    except (RuntimeError, TypeError, AttributeError) as error:
        runtime.synchronize()
        print(f"cannot be captured in a graph ({str(error).splitlines()[0]}); timed with events", file=sys.stderr)
    return _event_times(launch, repeat, runtime, flush), "events", statistics.median(_event_times(lambda: None, 50, runtime, flush))


def _flush(runtime, device):
    """A buffer that fills the L2 cache."""
    cache = getattr(runtime.get_device_properties(device), "L2_cache_size", 0) or 64 << 20
    return torch.empty(max(2 * cache, 128 << 20), dtype=torch.uint8, device=device)


def _serve(launch, runtime, device, result, does, kernel, work):
    """Says what was measured, and then does what each line of standard input says: an answer is a line that begins with goproton."""
    def answer(what, value):
        print("goproton", what, json.dumps(value), flush=True)

    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if device.type != "cpu":
        flush, clock = _flush(runtime, device), _clock(runtime, device)
        replays = {"events": lambda: _event_times(launch, 5, runtime, flush)}
        try:
            replays["CUDA graph"] = _captured(launch, runtime, flush)
        except (RuntimeError, TypeError, AttributeError):
            runtime.synchronize()
        *_, result["method"] = replays
    answer("measured", result)
    for line in sys.stdin:
        what, _, rest = line.strip().partition(" ")
        if what == "batch":
            millis, method = rest.split(" ", 1)
            replay = replays[method]
            replay()  # the other side had the GPU
            times, end = [], time.perf_counter() + float(millis) / 1e3
            while not times or time.perf_counter() < end and len(times) < 5000:
                times += replay()
            answer(what, {"times_ms": times, **clock()})
        elif what == "sample":
            answer(what, _sampled(launch, runtime, kernel, work, rest))
        else:
            answer(what, does[what](rest))
    return 0


def _end_with(parent):
    """Ends this process with the one that asks it, even while a launch hangs."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _sampled(launch, runtime, kernel, work, name):
    """Samples the instructions of launches, for about a tenth of a second, into the profile of a name."""
    import goproton

    goproton.start(name, mode="pcsampling", hook="triton")
    count, end = 0, time.perf_counter() + 0.1
    while count < 3 or time.perf_counter() < end and count < 1000:
        with goproton.scope(kernel, work):
            launch()
        runtime.synchronize()
        count += 1
    goproton.finalize()
    goproton.trace.finalize()
    return {"launches": count}


def _candidate(text, plan):
    """The launch of another function: of a Triton kernel with the recorded grid, constants and options, as far as no tuner around it sets them; of a
    function of Python as a call."""
    path, _, name = text.rpartition(":") if not text.endswith(".py") else (text, "", plan["kernel"])
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if function is None:
        there = ", ".join(n for n, v in vars(module).items() if hasattr(v, "arg_names") or inspect.isfunction(v) and v.__module__ == spec.name)
        sys.exit(f"{path} has no {name}: name one of its functions, as in {path}:NAME ({there or 'it has none'})")
    if not hasattr(function, "arg_names"):
        names = inspect.signature(function).parameters
        whole = any(p.kind is p.VAR_KEYWORD for p in names.values())
        return lambda grid, args: function(**{n: v for n, v in args.items() if whole or n in names})
    given, inner = {k: v for k, v in plan["compile"].items() if k in ("num_warps", "num_stages", "num_ctas")}, function
    names = set(function.arg_names)
    while hasattr(inner, "arg_names"):
        tuned = set(getattr(inner, "values", ())).union(*(config.all_kwargs() for config in getattr(inner, "configs", ())))
        names, given = names - tuned, {k: v for k, v in given.items() if k not in tuned}
        inner = getattr(inner, "fn", None)
    return lambda grid, args: function[tuple(grid)](**{n: v for n, v in args.items() if n in names}, **given)


def _clock(runtime, device):
    """A function that asks NVIDIA's management library for the clock of the multiprocessors, and whether power or heat lowers it."""
    try:
        nvml, handle = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
        uuid = str(runtime.get_device_properties(device).uuid)
        name = uuid if uuid.startswith(("GPU-", "MIG-")) else "GPU-" + uuid
        if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle)):
            return dict
    except (OSError, AttributeError):
        return dict

    def now():
        mhz, reasons, found = ctypes.c_uint(), ctypes.c_ulonglong(), {}
        if not nvml.nvmlDeviceGetClockInfo(handle, 1, ctypes.byref(mhz)):
            found["sm_mhz"] = mhz.value
        if not nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(reasons)):
            found["throttled"] = bool(reasons.value & 0xEC)  # power cap, slowdown, heat, power brake
        return found

    return now


def _captured(launch, runtime, flush):
    """A function that replays a graph of launches, and returns their times."""
    pairs = [(runtime.Event(enable_timing=True, external=True), runtime.Event(enable_timing=True, external=True)) for _ in range(10)]
    graph = runtime.CUDAGraph()
    with runtime.graph(graph):
        for start, end in pairs:
            flush.zero_()
            start.record()
            launch()
            end.record()

    def replay():
        graph.replay()
        runtime.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]

    return replay


def _graph_times(launch, repeat, runtime, flush):
    replay = _captured(launch, runtime, flush)
    replay()  # warms up
    times = []
    while len(times) < repeat:
        times += replay()
    return times[:repeat]


def _event_times(launch, repeat, runtime, flush):
    times = []
    for _ in range(repeat):
        start, end = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
        if hasattr(runtime, "_sleep"):
            runtime._sleep(400_000)  # the launch is in the queue before the GPU gets there
        flush.zero_()
        start.record()
        launch()
        end.record()
        runtime.synchronize()
        times.append(start.elapsed_time(end))
    return times


def _summary(times):
    ordered = sorted(times)
    at = lambda share: ordered[min(int(share * len(ordered)), len(ordered) - 1)]
    return {"median_ms": statistics.median(ordered), "p10_ms": at(0.1), "p90_ms": at(0.9), "min_ms": ordered[0], "n": len(ordered)}


def _for_profiler(launch, grid, args, count, runtime, plan, tensors):
    """Launches under a profiler; under proton run in a scope whose metrics are the bytes and operations of the launches."""
    scope = lambda: contextlib.nullcontext()
    if "PROTON_RUN_CONFIG" in os.environ:
        import goproton

        metrics = {"bytes": plan.get("bytes") or _bytes(tensors)}
        if plan.get("flops"):
            metrics["flops" + plan.get("flops_width", "16")] = plan["flops"]
        scope = lambda: goproton.scope(plan["kernel"], metrics)
    launch(grid, args)
    runtime.synchronize()
    for _ in range(count):
        with scope():
            launch(grid, args)
    runtime.synchronize()
    return 0


def _print(r, plan):
    for line in _table(r, plan):
        print("".join(c if c.isprintable() else repr(c)[1:-1] for c in line))  # names from the trace are as they like


def _table(r, plan):
    options = " ".join(f"{k}={v}" for k, v in plan["compile"].items() if k in ("num_warps", "num_stages") or k == "num_ctas" and v != 1)
    yield f"{r['kernel']}  grid {'x'.join(map(str, r['grid']))}  {options}"
    yield f"on        {r['device']}, torch {r['torch']}, Triton {r['triton']}"
    yield f"time      {r['median_ms'] * 1e3:.2f} us median, p10 {r['p10_ms'] * 1e3:.2f}, p90 {r['p90_ms'] * 1e3:.2f} (n={r['n']}, {r['method']}, cold L2)"
    yield f"          {r['floor_ms'] * 1e3:.2f} us of these pass between the two events without a launch, too"
    yield f"bytes     {r['bytes'] / 1e6:.3f} MB {'by its code' if plan.get('bytes') else 'in its tensors'}, {r['gb_per_s']:.1f} GB/s"
    if "flops" in r:
        yield f"flops     {r['flops'] / 1e9:.3f} Gflop by its code, {r['tflop_per_s']:.1f} Tflop/s"
    c = r["compiled"]
    same = {True: "as recorded", False: f"recorded: {plan['compile'].get('shared')} B", None: "unknown"}[c["same_as_recorded"]]
    yield f"compiled  {c['registers']} registers, {c['spills']} spilled, {c['shared']} B shared ({same})"
    for title, checks in (("recorded", r["check"]["recorded"]), ("repeated", r["check"]["repeated"]), ("against", r["check"].get("against", []))):
        for check in checks:
            most = check["max_abs_diff"]
            said = f"differs: {check['why']}" if most is None else "equal" if most == 0 else f"differs by at most {most:.3g} (values to {check['max_abs']:.3g})"
            ok = "ok" if check["ok"] else "WRONG" if title != "repeated" else "not deterministic"
            source = f", {check['source']}" if "source" in check else ""
            yield f"{title:<9} {check['argument']} {said}: {ok}{source}"
    if not r["outputs"]:
        yield "repeated  the launch changed none of its tensors"
