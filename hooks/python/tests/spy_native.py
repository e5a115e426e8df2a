"""A stand-in for goproton._native that remembers what it was asked, for tests of who calls what.

It keeps no profile: tests of what ends up in a profile use the real module.
"""

import json
import types

calls = []  # (function, arguments) in order
_counter = [0]
_sessions = [0]


def _said(name, result=None):
    def function(*args):
        calls.append((name, *args))
        return result() if callable(result) else result

    function.__name__ = name
    return function


def _next():
    _counter[0] += 1
    return _counter[0]


class scope:
    def __init__(self, name, metrics=None):
        self.name, self.metrics, self.id = name, metrics, None

    def __enter__(self):
        self.id = _next()
        calls.append(("scope.enter", self.name, self.metrics))
        return self

    def __exit__(self, *exc):
        calls.append(("scope.exit", self.name))


class cpu_timed_scope(scope):
    pass


def launch_enter(lazy):
    calls.append(("launch_enter", lazy and lazy.data.get("name")))


def launch_exit(lazy):
    calls.append(("launch_exit", lazy and lazy.data.get("name")))


def call(method, params):
    given = json.loads(params)
    calls.append((method, given))
    if method == "start":
        _sessions[0] += 1
        return json.dumps({"session": _sessions[0] - 1, "problems": []})
    if method == "run.begin":
        return json.dumps({"session": 0})
    return "{}"


def make():
    """The module object, to be put into sys.modules as goproton._native."""
    module = types.ModuleType("goproton._native")
    module.calls = calls
    module.scope, module.cpu_timed_scope = scope, cpu_timed_scope
    module.launch_enter, module.launch_exit, module.call = launch_enter, launch_exit, call
    module.active = lambda: True
    module.record_scope = _next
    module.last_op = lambda: (7, "kernel")
    module.leaf = lambda: (1, 0, 1)
    for name in ("enter_scope", "exit_scope", "enter_state", "exit_state", "enter_op", "exit_op", "add_metrics",
                 "add_metrics_at", "set_tensor_handler", "set_launch_filter", "trace_open", "trace_close", "trace_launch", "trace_rank",
                 "trace_watch", "inside_take", "inside_launched", "inside_launched_in", "inside_keep", "inside_last", "tensor_metric", "companion", "follow", "unfollow",
                 "following", "scopes_of_task", "states_of_task", "names_of_task"):
        setattr(module, name, _said(name, int(name in ("enter_scope", "enter_op"))))  # 1: they opened something
    return module


def reset():
    """Forgets what was said, so far."""
    calls.clear()
    _sessions[0] = 0
