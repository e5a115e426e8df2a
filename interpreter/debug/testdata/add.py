import triton
import triton.language as tl


@triton.jit
def helper(x, y):
    s = x + y
    t = s * 2
    return t - s


@triton.jit
def add_kernel(x_ptr, y_ptr, z_ptr, dim0, dim1, D0: tl.constexpr, D1: tl.constexpr):
    pid_x = tl.program_id(axis=0)
    pid_y = tl.program_id(axis=1)
    block_start = pid_x * D0 * dim1 + pid_y * D1
    offsets_dim0 = tl.arange(0, D0)[:, None]
    offsets_dim1 = tl.arange(0, D1)[None, :]
    offsets = block_start + offsets_dim0 * dim1 + offsets_dim1
    masks = (offsets_dim0 < dim0) & (offsets_dim1 < dim1)
    x = tl.load(x_ptr + offsets, mask=masks)
    y = tl.load(y_ptr + offsets, mask=masks)
    output = helper(x, y)
    total = 0.0
    for i in range(0, 3):
        total += i
    if pid_x == 0:
        output += total
    tl.store(z_ptr + offsets, output, mask=masks)
