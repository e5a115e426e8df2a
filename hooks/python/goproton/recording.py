"""When a session records: schedules by the program's steps, as torch.profiler has them.

    proton.start("train", schedule=proton.schedule(wait=10, active=3, repeat=2))
    for batch in loader:
        train(batch)
        proton.step()
"""

from __future__ import annotations

import sys
from enum import IntEnum

from . import _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class ProfilerAction(IntEnum):
    """What to do in a step, with the names and numbers of torch.profiler."""
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int = 0, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """A schedule for :func:`goproton.start`, with the rule of ``torch.profiler.schedule``, whose schedules are accepted too.

    The program's steps are counted from 0, and :func:`step` ends one. After `skip_first` steps come cycles: `wait` steps, then
    `warmup` steps, then `active` steps, which are recorded in one window. Nothing is recorded in `warmup` steps: GoProton has nothing to warm up.

    Args:
        repeat: how many cycles; 0 is without end.
        skip_first_wait: not 0: the first cycle does not wait.

    Raises:
        ValueError: a number is negative, or `active` is 0.
    """
    for name, steps, least in (("wait", wait, 0), ("warmup", warmup, 0), ("active", active, 1), ("repeat", repeat, 0),
                               ("skip_first", skip_first, 0)):
        if steps < least:
            raise ValueError(f"a schedule with {name}={steps}: it is {least} or more")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class _Scheduled:
    """A session with a schedule."""

    def __init__(self, session: int, of: Callable[[int], Any]):
        self.session, self.of, self.step, self.action = session, of, 0, ProfilerAction.NONE
        self._set(self._asked())

    def next(self) -> None:
        self.step += 1
        action = self._asked()
        if action != self.action or action == ProfilerAction.RECORD_AND_SAVE:
            self._set(action)

    def _asked(self) -> ProfilerAction:
        given = self.of(self.step)
        try:
            return ProfilerAction(getattr(given, "value", given))
        except ValueError:
            raise ValueError(f"the schedule returned {given!r} for step {self.step}: it returns a torch.profiler.ProfilerAction") from None

    def _set(self, action: ProfilerAction) -> None:
        before, self.action = self.action, action
        _library.call("set_action", session=self.session, action=int(action))
        if (before < ProfilerAction.RECORD) != (action < ProfilerAction.RECORD):
            _switch_hooks(self.session, action >= ProfilerAction.RECORD)


_scheduled: dict[int, _Scheduled] = {}


def begin(session: int, of: Callable[[int], Any]) -> None:
    """Gives a session its schedule. One that was started again keeps its own."""
    if session in _scheduled:
        return
    _scheduled[session] = _Scheduled(session, of)
    if _scheduled[session].action < ProfilerAction.RECORD:
        _switch_hooks(session, False)


def end(session: int | None) -> None:
    """Forgets the schedule of a session that has ended; None means all."""
    if session is None:
        _scheduled.clear()
    else:
        _scheduled.pop(session, None)


def _switch_hooks(session: int, on: bool) -> None:
    hooks = sys.modules.get(f"{__package__}.hooks.hook")
    if hooks:
        hooks.HookManager.activate(session) if on else hooks.HookManager.deactivate(session)


def step() -> None:
    """Ends a step of the program: of training, or a request of a server. Without a session that counts steps it does nothing.

    Sessions with a `schedule`, and ``proton run --every N --for M``, begin or end their recording windows here: launches before this
    call belong to the step that ends, launches after it to the next one. It does not wait for the GPU.
    """
    if _library.native is None:
        return
    _library.call("step")
    for one in list(_scheduled.values()):
        one.next()


def count_optimizer_steps() -> None:
    """Has each step of torch's optimizers count as a step, until the program calls :func:`step` itself."""
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(lambda *_: _library.call("step", optimizer=True))
