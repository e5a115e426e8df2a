"""Hooks around Triton's kernel launches: the launch hook of ``hook="triton"``, and the interface for your own."""

from .hook import Hook, HookManager
from .instrumentation import InstrumentationHook
from .launch import LaunchHook

__all__ = ["Hook", "HookManager", "InstrumentationHook", "LaunchHook"]
