"""The same kernel, in which the first program instance stops."""

import pdb

import numpy as np
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, z_ptr, dim0, dim1, BLOCK_DIM0: tl.constexpr, BLOCK_DIM1: tl.constexpr):
    pid_x = tl.program_id(axis=0)
    pid_y = tl.program_id(axis=1)
    block_start = pid_x * BLOCK_DIM0 * dim1 + pid_y * BLOCK_DIM1
    offsets_dim0 = tl.arange(0, BLOCK_DIM0)[:, None]
    offsets_dim1 = tl.arange(0, BLOCK_DIM1)[None, :]
    offsets = block_start + offsets_dim0 * dim1 + offsets_dim1
    if pid_x == 0:
        if pid_y == 0:
            pdb.set_trace()
    masks = (offsets_dim0 < dim0) & (offsets_dim1 < dim1)
    x = tl.load(x_ptr + offsets, mask=masks)
    y = tl.load(y_ptr + offsets, mask=masks)
    output = x + y
    tl.store(z_ptr + offsets, output, mask=masks)


a = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
b, c = np.ones_like(a), np.zeros_like(a)
add_kernel[(8, 8)](a, b, c, 128, 128, 16, 16)
print("right" if (c == a + b).all() else "wrong")
