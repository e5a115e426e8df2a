"""Sums of a trace in Chrome's JSON format, from the events and the rules of their writers alone.

The work of GPUs is below the innermost slice of the host around its launch, which is found by the correlation id, among
calls of the same process or rank, or else by the arrow to the work."""
import re
from collections import Counter, defaultdict
from decimal import ROUND_HALF_UP, Decimal

GPU = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "graph", "concurrent_kernel", "kernel_dispatch", "memory_copy", "gpu_op", "mtia_ccp_events"}
COPIES = {"gpu_memcpy", "gpu_memset", "memcpy", "memset"}
CALLS = re.compile(r"(.*_)?(runtime|driver)$|launch$|(rocm_)?(cuda|hip|hsa)_api$")
FUNCTIONS = re.compile(r"(cuda|cu|hip|hsa)[A-Z_]")  # of a vendor's library, where no category says so
UNSEEN = {"cuda_sync", "overhead", "trace", "gpu_user_annotation", "inside", "other", "cuda_profiler_range"}
YEAR = 365 * 24 * 3600 * 10**9
ROUNDING = 1000  # ns by which a slice may end after the one that it is in


def nanos(value):
    if value is None or isinstance(value, (bool, list, dict)):
        return 0
    value = Decimal(str(value))
    return int((value * 1000).to_integral_value(ROUND_HALF_UP)) if value.is_finite() else 0


def text(value):
    """A text, in which half a surrogate pair is U+FFFD."""
    return "" if value is None else re.sub("[\ud800-\udfff]", "\ufffd", str(value))


def kind_of(category, name, id_=None):
    """What a slice is: "gpu", "host" for a scope, "call" or "wait" of the driver, or "unseen"."""
    if category in GPU:
        return "unseen" if name in ("event_wait", "event_record") else "gpu"
    if category in UNSEEN:
        return "unseen"
    if CALLS.match(category) or not category and id_ is not None and FUNCTIONS.match(name):
        return "wait" if "Synchronize" in name or "QueueFinish" in name else "call"
    return "wait" if category == "sync" else "host"


class Slice:
    def __init__(self, event, order):
        self.order = order  # in the file
        args = event.get("args")
        self.args = args if isinstance(args, dict) else {}
        self.name, self.cat = text(event.get("name")), text(event.get("cat")).lower()
        self.lane = text(event.get("pid")), text(event.get("tid"))
        self.start, self.nanos = nanos(event.get("ts")), max(nanos(event.get("dur")), 0)
        self.id = next((self.args[k] for k in ("correlation", "correlation_id", "correlationId") if k in self.args), None)
        self.kind = kind_of(self.cat, self.name, self.id)
        self.path = None

    end = property(lambda self: self.start + self.nanos)


class Trace:
    """The slices of the documents of a file, and the arrows."""

    def __init__(self, documents):
        self.slices, self.arrows = [], []
        self.process, self.thread = {}, {}
        self.ours = any(isinstance(d, dict) and "goproton_trace" in d.get("otherData", {}) for d in documents)
        for document in documents:
            self.read([e for e in (document["traceEvents"] if isinstance(document, dict) else document) if isinstance(e, dict)])
        self.leave_out()
        for s in self.slices:
            if re.match(r"/device:[GT]PU:", self.process.get(s.lane[0], "")):
                s.kind = "gpu" if self.thread.get(s.lane, "").startswith("Stream #") else "unseen"
            elif s.lane[0] == "CUDA functions":
                s.kind = "gpu"
            elif self.ours and s.kind == "host" and int(s.lane[1]) >= 100_000:
                s.kind = "unseen"  # an annotation on the lane of a GPU
        self.host = [s for s in self.slices if s.kind != "gpu"]
        self.gpu = [s for s in self.slices if s.kind == "gpu"]

    def read(self, events):
        ends, pairs = defaultdict(list), defaultdict(list)
        for order, e in enumerate(events):
            phase, name = text(e.get("ph"))[:1], (e.get("args") or {}) if isinstance(e.get("args"), dict) else {}
            lane = text(e.get("pid")), text(e.get("tid"))
            if phase == "X":
                self.slices.append(Slice(e, order))
            elif phase in ("B", "E"):
                pairs[lane].append((order, e))
            elif phase in ("s", "f"):
                ends[text(e.get("cat")), text(e.get("id")), phase].append((lane, nanos(e.get("ts"))))
            elif phase == "M" and e.get("name") == "process_name":
                self.process[lane[0]] = text(name.get("name"))
            elif phase == "M" and e.get("name") == "thread_name":
                self.thread[lane] = text(name.get("name"))
        for lane, list_ in pairs.items():
            self.pair(sorted(list_, key=lambda o: nanos(o[1].get("ts"))), max((s.end for s in self.slices if s.lane == lane), default=0))
        for (cat, id_, phase), starts in ends.items():
            if phase == "s":
                self.arrows += zip(starts, ends.get((cat, id_, "f"), []))

    def leave_out(self):
        """Times that cannot be: more than a year from the middle one, and 0 of a device whose records others time later. A
        duration beyond a year is 0, and work without one is left out."""
        starts = sorted(s.start for s in self.slices)
        middle = starts[len(starts) // 2] if starts else 0
        void = lambda s: s.kind == "gpu" and (s.nanos > YEAR or s.start == s.nanos == 0 and middle > YEAR / 8760)
        self.slices = [s for s in self.slices if abs(s.start - middle) <= YEAR and not void(s)]
        for s in self.slices:
            s.nanos = s.nanos if s.nanos <= YEAR else 0

    def pair(self, events, until):
        """An E ends the innermost B of its name, or without a name the innermost one. What is open within ends with it, unless an E
        of the same time follows. What is open at the end lasts until the last event of the lane."""
        begun, last = [], 0  # pairs of a slice and its end, as far as that is known
        for order, e in events:
            last = nanos(e.get("ts"))
            self.leave(begun, last)
            if text(e.get("ph"))[:1] == "B":
                begun.append([Slice(e, order), None])
                self.slices.append(begun[-1][0])
                continue
            for open_ in reversed(begun):
                if open_[1] is None and (not e.get("name") or open_[0].name == text(e.get("name"))):
                    open_[1] = last
                    break
            while begun and begun[-1][1] is not None:
                s, end = begun.pop()
                s.nanos = end - s.start
        self.leave(begun, last + 1)
        for s, _ in begun:
            s.nanos = max(last, until) - s.start

    @staticmethod
    def leave(begun, now):
        """Takes out what has ended before a time, with all that is within."""
        for at, (_, end) in enumerate(begun):
            if end is not None and end < now:
                for s, own in begun[at:]:
                    s.nanos = (end if own is None else min(own, end)) - s.start
                del begun[at:]
                return

    def nest(self):
        """Gives each slice of the host the path of the slices around it. Calls and what is unseen have no frame."""
        lanes = defaultdict(list)
        for s in self.host:
            lanes[s.lane].append(s)
        for list_ in lanes.values():
            around = []
            for s in sorted(list_, key=lambda s: (s.start, -s.nanos, s.order)):
                while around and not (s.start < around[-1].end and s.end <= around[-1].end + ROUNDING):
                    around.pop()
                above = around[-1].path if around else None
                s.path = (above, s.name) if s.kind in ("host", "wait") else above
                if s.kind != "unseen" or s.cat != "gpu_user_annotation":
                    around.append(s)

    def launches(self):
        """The call that launched each slice of a GPU, or None: by arrow, by process, by rank, and if there is just one."""
        calls, lanes = defaultdict(list), defaultdict(list)
        for s in self.host:
            lanes[s.lane].append(s)
            if s.id is not None and s.kind in ("call", "wait"):
                calls[s.id].append(s)
        several = len({c.lane[0] for list_ in calls.values() for c in list_}) > 1
        self.unsure = set()  # names of work whose only call may be another process's, which has the same id
        arrows = defaultdict(list)
        for (lane, at), to in self.arrows:
            arrows[to].append((lane, at))
        for s in self.gpu:
            found = calls.get(s.id, []) if s.id is not None else []
            rank = re.match(r"\[[^\]]*\]", s.lane[0])
            if rank and any(c.lane[0].startswith("[") for c in found):
                found = [c for c in found if c.lane[0].startswith(rank.group())]
            for same in (
                lambda c: any(c.lane == lane and c.start <= at <= c.end for lane, at in arrows.get((s.lane, s.start), [])),
                lambda c: c.lane[0] == s.lane[0],
                lambda c: rank and c.lane[0].startswith(rank.group()),
            ):
                if len(found) > 1:
                    found = [c for c in found if same(c)] or found
            if not found:
                around = lambda lane, at: [h for h in lanes[lane] if h.start <= at <= h.end and h.kind != "unseen"]
                found = [h for lane, at in arrows.get((s.lane, s.start), []) for h in around(lane, at)]
            found = [c for c in found if c.start <= s.start] or found
            if several and len(found) == 1 and found[0].lane[0] != s.lane[0] and not rank and (s.lane, s.start) not in arrows:
                self.unsure.add(s.name)
            yield s, max(found, key=lambda c: (c.start, -c.nanos)) if found else None

    def sums(self):
        """metric -> (frame above, frame) -> sum"""
        self.nest()
        sums = defaultdict(Counter)
        for s in self.host:
            if s.kind in ("host", "wait"):
                metric = "cpu_time (ns)" if s.kind == "host" else "sync_time (ns)"
                sums[metric][s.path[0][1] if s.path[0] else "ROOT", s.name] += s.nanos
        for s, launch in self.launches():
            above = launch.path if launch else None
            if launch and launch.kind == "wait":
                above = launch.path
            key = above[1] if above else "ROOT", s.name
            sums["time (ns)"][key] += s.nanos
            sums["count"][key] += 1
            if "bytes" in s.args and s.cat in COPIES:
                sums["bytes"][key] += int(s.args["bytes"])
        return sums

    def busy(self):
        """How long each GPU was busy: the union of its slices. GPUs are those of (process, device)."""
        work = defaultdict(list)
        for s in self.gpu:
            work[s.lane[0], text(s.args.get("device"))].append((s.start, s.end))
        return sorted(union(list_) for list_ in work.values())


def union(intervals):
    total, until = 0, None
    for start, end in sorted(intervals):
        if until is None or start > until:
            until = start
        total += max(end - until, 0)
        until = max(until, end)
    return total
