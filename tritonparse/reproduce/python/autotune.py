import sys


def _tuners(kernel):
    """Autotuner and heuristics around a kernel."""
    while hasattr(getattr(kernel, "fn", None), "__getitem__"):
        yield kernel
        kernel = kernel.fn


def _set_by_tuner(kernel):
    """Names of the arguments that autotuner and heuristics will give by themselves."""
    names = set()
    for tuner in _tuners(kernel):
        for config in getattr(tuner, "configs", ()):
            names.update(config.kwargs)
        names.update(getattr(tuner, "values", ()))
    return names


def _tuned_grid(kernel, recorded):
    """The grid of each configuration that the trace has a launch of. No other is tried: with the grid of smaller tiles it would
    write next to the tensors."""
    tuned, first = _set_by_tuner(kernel), recorded[0][0]

    def same(value, other):
        return value == other or value != value and other != other

    def matches(constants, values):
        return all(same(values.get(name, value), value) for name, value in constants.items() if name in tuned)

    # What no tuner sets must be as in this launch.
    recorded = [(constants, grid) for constants, grid in recorded if all(name in tuned or same(first.get(name), value) for name, value in constants.items())]
    for tuner in _tuners(kernel):
        configs = getattr(tuner, "configs", None)
        if not configs:
            continue
        known = [config for config in configs if any(matches(constants, config.kwargs) for constants, _ in recorded)]
        if not known:
            raise RuntimeError("the trace has launches of none of the autotuner's configurations, so that their grids are not known")
        if len(known) < len(configs):
            print(f"The trace has launches of {len(known)} of the autotuner's {len(configs)} configurations. "
                  "The others' grids are not known, and they are left out.", file=sys.stderr)
        tuner.configs = known

    def grid(values):
        for constants, known in recorded:
            if matches(constants, values):
                return known
        chosen = {name: values[name] for name in first if name in values and name in tuned}
        raise RuntimeError(f"the trace has no launch with {chosen}, so that its grid is not known: make the script without "
                           "--preserve-autotune, and the recorded configuration runs")

    return grid
