"""What knows Triton's own names and places: its profiler's modules, its native module, its launch hooks, and the kernels that it has loaded."""
