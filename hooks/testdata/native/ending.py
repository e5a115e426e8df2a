"""A program that ends while daemon threads call every entry of goproton._native: python3 ending.py path/to/testlib.so [entry…]

One thread runs each entry in a loop, all entries unless some are named. tools/stress-exit.py runs it many times.
"""

import random, sys, threading, time

from test_native import n
import test_trace as trace

leaf = None


def scope():
    with n.scope("scope", {"m": 1}), n.scope(name="inner"): pass


def timed():
    with n.cpu_timed_scope("timed"): pass


def function_forms():
    n.enter_scope("scope")
    n.enter_state("state")
    n.exit_state()
    n.exit_scope()


decorated = n.scope("decorated")(lambda: n.active())


def op():
    n.enter_op("op", 7)
    n.exit_op()
    n.last_op()


def hook():
    metadata = {"name": "kernel", "function": 7, "flops": 1.5, "bytes": 3}
    n.launch_enter(metadata)
    n.launch_exit(metadata)


def metrics():
    n.add_metrics({"m": 1, "d": 1.5})
    n.add_metrics_at(leaf, {"m": 1})


def vector(): n.add_metrics({"vector": [1, 2]})                  # enters Go
def tensor(): n.add_metrics({"tensor": trace.Tensor()})          # calls the handler
def launch(): n.call("launch", "{}")                             # what CUPTI's callback does, without the GIL
def look(): n.leaf(), n.active(), n.record_scope()
def traced(): trace.launch(1, trace.Tensor(), "text")            # calls helpers; waits for the full ring, without the GIL


def untraced():
    trace.Helpers().open(trace.ring)
    n.trace_close()


ENTRIES = {f.__name__: f for f in (scope, timed, function_forms, op, hook, metrics, vector, tensor, launch, look, traced, untraced)}
ENTRIES["decorated"] = decorated


def forever(entry):
    while True:
        entry()


if __name__ == "__main__":
    wanted = sys.argv[2:] or list(ENTRIES)
    sys.setswitchinterval(1e-5)
    n.call("start", '{"Shadow": true, "Python": true}')
    n.set_tensor_handler(lambda key, tensor, at: None)
    trace.Helpers().open(trace.ring)
    leaf = n.leaf()
    for entry in wanted:
        threading.Thread(target=forever, args=(ENTRIES[entry],), daemon=True).start()
    time.sleep(random.random() * 0.02)
    sys.exit(7)
