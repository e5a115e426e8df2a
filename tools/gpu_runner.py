"""Runs the checks of a file like gpu_check.py, each in a process of its own: one that crashes or hangs costs nothing but itself,
and torch.profiler keeps CUPTI to itself once it was used."""
import concurrent.futures, faulthandler, os, subprocess, sys, time, traceback

import torch
import triton


class Checks:
    """As a decorator it collects them; run() runs those that the command line names, or all.

    patience: seconds for one check. together: how many run at a time, but for those that are named as `alone`.
    """

    def __init__(self, file, patience, what="", together=1, alone=()):
        self.file, self.patience, self.together, self.alone = os.path.abspath(file), patience, together, alone
        self.what = what and what + ", "
        self.all = []

    def __call__(self, f):
        self.all.append(f)
        return f

    def run(self, argv):
        if argv[:1] == ["--one"]:
            return self._one(next(f for f in self.all if f.__name__ == argv[1]))
        names = [f.__name__ for f in self.all if not argv or f.__name__ in argv]
        unknown = set(argv) - set(names)
        if unknown:
            sys.exit(f"there is no check {', '.join(sorted(unknown))}; there are {', '.join(f.__name__ for f in self.all)}")
        failed = 0
        for code, text in self._results(names):
            print(text, end="", flush=True)
            failed += code != 0
        print(f"{len(names) - failed} passed, {failed} failed, {self.what}on {torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
        sys.exit(failed > 0)

    def _results(self, names):
        with concurrent.futures.ThreadPoolExecutor(self.together) as pool:
            yield from pool.map(self._in_child, [n for n in names if n not in self.alone])
        yield from map(self._in_child, [n for n in names if n in self.alone])

    def _in_child(self, name):
        try:
            r = subprocess.run([sys.executable, self.file, "--one", name], capture_output=True, text=True, timeout=self.patience)
        except subprocess.TimeoutExpired as e:
            return 1, f"FAIL {name}: hangs\n{(e.stdout or b'').decode()}{(e.stderr or b'').decode()}"
        crash = f"FAIL {name}: ended by signal {-r.returncode}\n" if r.returncode < 0 else ""
        return r.returncode, crash + r.stdout + (r.stderr if r.returncode else "")

    def _one(self, f):
        faulthandler.dump_traceback_later(self.patience - 10, exit=True)
        began = time.time()
        try:
            f()
        except Exception:
            print(f"FAIL {f.__name__}\n{traceback.format_exc()}", flush=True)
            sys.exit(1)
        print(f"ok   {f.__name__} ({time.time() - began:.1f} s)", flush=True)
