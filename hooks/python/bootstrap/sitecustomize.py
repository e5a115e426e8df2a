# `proton run` puts this folder first on PYTHONPATH, so Python imports this file before the program's first line.
# It runs the sitecustomize that it hides, if there is one, then begins the profile. Every Python that the program starts
# reads it, including old ones, so the syntax is plain, and it must neither print nor raise.
import os
import sys


def _hidden_sitecustomize(here):
    """Runs the sitecustomize that would have run without GoProton; its errors are its own."""
    try:
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec
    except ImportError:
        return
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None or os.path.dirname(os.path.realpath(spec.origin or "")) == here:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _too_old(config):
    """Stores this Python's version for the closing line of `proton run`. It prints nothing, because this may be a tool of the program."""
    try:
        import json
        with open(os.path.join(json.loads(config)["status"], "old-python"), "w") as note:
            note.write("%d.%d" % sys.version_info[:2])
    except Exception:
        pass


def _begin(package):
    config, interpreting = os.environ.get("PROTON_RUN_CONFIG"), os.environ.get("PROTON_INTERPRET_CONFIG")
    if not config and not interpreting or getattr(sys, "implementation", None) is None or sys.implementation.name != "cpython":
        return
    if sys.version_info < (3, 9):
        _too_old(config or interpreting)
        return
    try:
        import json
        # This run's package, even if another is installed; loaded by path, so that the folder is not in sys.path.
        from importlib.util import module_from_spec, spec_from_file_location
        spec = spec_from_file_location("goproton", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
        module = module_from_spec(spec)
        sys.modules["goproton"] = module
        spec.loader.exec_module(module)
        if interpreting:
            from goproton._interpret import program
            program.begin(json.loads(interpreting))
        if config:
            from goproton import _run
            _run.begin(json.loads(config))
    except Exception as error:
        sys.stderr.write("goproton: this process is not %s: %r\n" % ("profiled" if config else "interpreted", error))


def _package(here):
    """The package's folder: the one that this folder is in, if it was installed from a wheel, else the one next to this folder."""
    above = os.path.dirname(here)
    return above if os.path.exists(os.path.join(above, "__init__.py")) else os.path.join(above, "goproton")


_here = os.path.dirname(os.path.realpath(__file__))
# The program has the same sys.path as without GoProton; its children still inherit PYTHONPATH.
sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder or ".") not in (_here, os.path.dirname(_here))]
try:
    _hidden_sitecustomize(_here)
finally:
    _begin(_package(_here))
