"""Time of `proton viewer` compared with Triton's proton-viewer, on the same files, in one run.

    python3 bench/viewer.py [--proton build/proton] [--peer .venv/bin/python] [--rounds 5] [--keep FOLDER] [SIZE ...]

SIZE is a number of frames; 20000, 13000 and 1000000 by default. Each profile resembles a training run: steps, phases,
layers, modules and operators above kernels with realistic names, metrics and depths. It is the same on every machine.
Each cell is the median over rounds of a process's wall time, and its peak resident memory as the system counts it (wait4).
proton-viewer needs pandas, llnl-hatchet and a Triton wheel, which tools/oracles.sh downloads. It takes over a millisecond
per frame, so it runs once, and not at all above --peer-limit frames. The machine should be otherwise idle.
"""
import argparse, itertools, os, platform, random, shutil, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

# Kernels as cuBLAS, PyTorch and Triton name them: name, uses flops16, median time in ns.
KERNELS = [
    ("nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", True, 180_000),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", True, 95_000),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)", False, 6_400),
    ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)", False, 11_000),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >(at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4>)", False, 9_100),
    ("triton_poi_fused__to_copy_add_mul_silu_3", False, 14_000),
    ("_attn_fwd_<grid:128x32x1>_<warps:8>_<shared:163840>_<stages:3>", True, 410_000),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", False, 220_000),
]
MODULES = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.core", "self_attn.o_proj",
           "input_layernorm", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.act", "mlp.down_proj", "residual"]
VIEW = ["--top", "20", "-m", "time/ms"]  # the view of large profiles
OPERATORS = ["aten::linear", "aten::add_", "/opt/train/model.py:412@forward"]


def kernels():
    """Yields (call path, metrics) of one kernel after another, forever."""
    dice = random.Random(7)
    for step in itertools.count():
        for phase in ("forward", "backward", "optimizer"):
            for layer in range(32):
                for module in MODULES:
                    for operator in OPERATORS:
                        for name, matmul, median in dice.sample(KERNELS, 3):
                            yield (f"step {step}", phase, f"layers.{layer}", module, operator, name), metrics(dice, matmul, median)


def metrics(dice, matmul, median):
    t = int(median * (0.6 + 0.8 * dice.random()))
    flops = [("flops16", f"{t * 5e5:.1f}")] if matmul else []
    return [("bytes", 2 * t), ("count", dice.randint(1, 4)), ("device_id", f'"{dice.randint(0, 1)}"'), ("device_type", '"CUDA"'),
            *flops, ("time (ns)", t)]


def write(path, frames):
    """Writes a .hatchet file with this many frames, in the layout of Triton's and proton's files."""
    with open(path, "w", buffering=1 << 20) as out:
        put, stack, kids = out.write, [], [0]

        def enter(name, m):
            pad = "    " * (2 * len(stack) + 1)
            put((",\n" if kids[-1] else "\n") + pad + '{\n' + pad + '    "children": [')
            kids[-1] += 1
            kids.append(0)
            stack.append((name, m))

        def leave():
            name, m = stack.pop()
            pad = "    " * (2 * len(stack) + 1)
            inner = ",\n".join(f'{pad}        "{k}": {v}' for k, v in m)
            put(("\n" + pad + "    " if kids.pop() else "") + f'],\n{pad}    "frame": {{\n{pad}        "name": "{name}",\n'
                f'{pad}        "type": "function"\n{pad}    }},\n{pad}    "metrics": ' + (f'{{\n{inner}\n{pad}    }}' if m else "{}") + f'\n{pad}}}')

        put("\n[")
        enter("ROOT", [(m, 0) for m in ("bytes", "count", "flops16", "time (ns)")])
        left = frames - 1
        for call, m in kernels():
            same = 0
            while same < min(len(stack) - 1, len(call)) and stack[same + 1][0] == call[same]:
                same += 1
            while len(stack) > same + 1:
                leave()
            for name in call[same:][:left]:
                left -= 1
                enter(name, m if name == call[-1] else [])
            if left == 0:
                break
        while stack:
            leave()
        put(',\n    {\n        "CUDA": {\n' + ",\n".join(f"""            "{i}": {{
                "arch": "90",
                "bus_width": 6016,
                "clock_rate": 1980000,
                "memory_clock_rate": 3201000,
                "num_sms": 132
            }}""" for i in (0, 1)) + "\n        }\n    }\n]\n")


def measure(command, environment=None, output=subprocess.DEVNULL):
    """Runs a process; returns its wall time in seconds and its peak resident memory in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, env=environment)
    complaint = process.stderr.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    wall, process.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with {process.returncode}:\n{complaint}")
    return wall, used.ru_maxrss * 1024


def repeat(rounds, command, environment=None):
    all = [measure(command, environment) for _ in range(rounds)]
    return statistics.median(wall for wall, _ in all), max(memory for _, memory in all)


def machine():
    model = platform.processor()
    try:
        with open("/proc/cpuinfo") as f:
            model = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores of {model}, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def megabytes(n):
    return f"{n / 1e6:.1f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", metavar="SIZE", nargs="*", type=int, default=[13_000, 20_000, 1_000_000])
    parser.add_argument("--proton", default=os.path.join(ROOT, "build/proton"))
    parser.add_argument("--peer", default=os.path.join(ROOT, ".venv/bin/python"), help="interpreter with pandas and llnl-hatchet")
    parser.add_argument("--wheel", default=os.path.join(ROOT, ".venv/oracles/triton-3.6.0"), help="folder with the triton package whose viewer is run")
    parser.add_argument("--peer-limit", type=int, default=50_000, help="run proton-viewer for at most this many frames")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", metavar="FOLDER", help="keep the profiles in this folder, and reuse existing ones")
    o = parser.parse_args()
    folder = o.keep or tempfile.mkdtemp(prefix="bench-viewer-")
    os.makedirs(folder, exist_ok=True)
    environment = dict(os.environ, PYTHONPATH=o.wheel, PYTHONDONTWRITEBYTECODE="1", MPLBACKEND="agg", PYTHONWARNINGS="ignore")
    peer = [o.peer, "-c", "from triton.profiler import viewer; viewer.main()"]
    there = os.path.exists(o.peer) and os.path.isdir(o.wheel)
    if not there:
        print(f"no {o.peer} or no {o.wheel}: only proton is measured; run tools/oracles.sh", file=sys.stderr)
    try:
        print(machine())
        wall, memory = repeat(4 * o.rounds, [o.proton, "viewer", "-m", "time/ms", os.path.join(ROOT, "viewer/testdata/profiles/scope.hatchet")])
        print(f"start-up, a file of 4 frames: {wall * 1e3:.1f} ms, {megabytes(memory)}\n")
        print("| frames | file | view | proton viewer | proton-viewer | wall | memory |\n|---|---|---|---|---|---|---|")
        for frames in o.sizes:
            file = os.path.join(folder, f"{frames}.hatchet")
            if not os.path.exists(file):
                write(file, frames)
            for view in (["-m", "time/ms"], *([VIEW] if frames > 100_000 else [])):
                ours = [o.proton, "viewer", *view, file]
                wall, memory = repeat(o.rounds, ours)
                row = [f"{frames:,}", megabytes(os.path.getsize(file)), " ".join(view), f"{wall:.3f} s, {megabytes(memory)}", "not run", "", ""]
                if there and frames <= o.peer_limit and view is not VIEW:
                    theirs = peer + [*view, file]
                    with tempfile.TemporaryFile() as tree:
                        their_wall, their_memory = measure(theirs, environment, tree)
                        tree.seek(0)
                        # The fast result must also be correct.
                        if subprocess.run([*ours, "--compat"], stdout=subprocess.PIPE).stdout != tree.read():
                            sys.exit(f"{file}: the two print different trees")
                    row[4:] = [f"{their_wall:.1f} s, {megabytes(their_memory)}", f"1 : {their_wall / wall:.0f}", f"1 : {their_memory / memory:.1f}"]
                print("| " + " | ".join(row) + " |", flush=True)
    finally:
        if not o.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
