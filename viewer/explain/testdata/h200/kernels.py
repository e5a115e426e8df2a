"""Kernels with one known fault each, in the lines that say so, and healthy ones."""
import triton
import triton.language as tl


@triton.jit
def strided(x, z, n, S: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + (o * S) % n, o < n)  # fault
    tl.store(z + o, v, o < n)


@triton.jit
def strided_store(x, z, n, S: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, o < n)
    tl.store(z + (o * S) % n, v, o < n)  # fault


@triton.jit
def gather(x, index, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    i = tl.load(index + o, o < n)
    v = tl.load(x + i, o < n)  # fault
    tl.store(z + o, v, o < n)


@triton.jit
def column_sums(x, z, R, C, B: tl.constexpr):
    c = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for r in range(0, R, B):
        rows = r + tl.arange(0, B)
        total += tl.load(x + rows * C + c, rows < R, 0.0)  # fault
    tl.store(z + c, tl.sum(total, 0))


@triton.jit
def one_program_sum(x, z, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    start = tl.program_id(0) * (n // tl.num_programs(0))
    for i in range(0, n // tl.num_programs(0), B):
        total += tl.load(x + start + i + tl.arange(0, B))  # fault
    tl.store(z + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def sorted_rows(x, z, C, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    a = tl.load(x + r * C + o)
    b = tl.sort(a)  # fault
    tl.store(z + r * C + o, b + a)


@triton.jit
def wide_softmax(x, z, C, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * C + c, c < C, -float("inf"))  # fault
    v = tl.exp(v - tl.max(v, 0))  # fault
    tl.store(z + r * C + c, v / tl.sum(v, 0), c < C)  # fault


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr = "tf32", OUT: tl.constexpr = tl.float16):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        left = tl.load(a + rm[:, None] * K + rk[None, :])  # fault
        right = tl.load(b + rk[:, None] * N + rn[None, :])  # fault
        total = tl.dot(left, right, total, input_precision=P)  # fault
    tl.store(c + rm[:, None] * N + rn[None, :], total.to(OUT))


@triton.jit
def sines(x, z, n, T: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, o < n)
    for _ in range(T):
        v = tl.exp2(v) * 0.25  # fault
    tl.store(z + o, v, o < n)


@triton.jit
def chain(x, z, n, T: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, o < n)
    for _ in range(T):
        v = v * 0.999 + 0.001  # fault
    tl.store(z + o, v, o < n)


@triton.jit
def divisions(x, z, n, d, T: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, o < n)
    for i in range(T):
        v = (v // d) + o % (d + i)  # fault
    tl.store(z + o, v, o < n)


@triton.jit
def contended(z, T: tl.constexpr, B: tl.constexpr):
    o = tl.arange(0, B)
    for _ in range(T):
        tl.atomic_add(z + o * 0, 1.0)  # fault


@triton.jit
def locked(lock, z, n):
    while tl.atomic_cas(lock, 0, 1) == 1:  # fault
        pass
    tl.store(z, tl.load(z) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def sums_in_turn(x, z, C, T: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    v = tl.load(x + r * C + o)
    for _ in range(T):
        v = v - tl.sum(v, 0) * 0.001  # fault
    tl.store(z + r * C + o, v)


@triton.jit
def transposed_in_turn(x, z, T: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * B * B
    i = tl.arange(0, B)
    v = tl.load(x + r + i[:, None] * B + i[None, :])
    for _ in range(T):
        v = tl.trans(v) + v * 0.5  # fault
    tl.store(z + r + i[:, None] * B + i[None, :], v)


@triton.jit
def pointer_chase(x, z, T: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    for _ in range(T):
        i = tl.load(x + i)  # fault
    tl.store(z + tl.program_id(0) * B + tl.arange(0, B), i)


@triton.jit
def add(x, y, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + o, tl.load(x + o, o < n) + tl.load(y + o, o < n), o < n)


@triton.jit
def norm(x, w, z, C, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * C + c, c < C, 0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / C + 1e-6)
    tl.store(z + r * C + c, v * scale * tl.load(w + c, c < C), c < C)


CUDA = r"""
extern "C" __global__ void conflicts(float *z, int t) {
  __shared__ float s[32 * 32 * 2];
  int i = threadIdx.x;
  s[i] = i; s[i + 1024] = i;
  __syncthreads();
  float v = 0;
  for (int k = 0; k < t; k++) {
    v += s[((i & 31) * 32 + (i >> 5) + k) & 2047];  // fault: bank conflicts
  }
  z[blockIdx.x * blockDim.x + i] = v;
}
extern "C" __global__ void indexed(float *z, int t) {
  float a[64];
  for (int k = 0; k < 64; k++) a[k] = k + threadIdx.x;
  int j = threadIdx.x;
  for (int k = 0; k < t; k++) {
    j = (j * 17 + k) & 63;
    a[j] += a[(j * 5 + 1) & 63];  // fault: local memory
  }
  z[blockIdx.x * blockDim.x + threadIdx.x] = a[j & 63];
}
extern "C" __global__ void barriers(float *z, int t) {
  __shared__ float s[1024];
  int i = threadIdx.x;
  s[i] = i;
  for (int k = 0; k < t; k++) {
    __syncthreads();  // fault: one warp works, the others wait
    if (i < 32) { float v = s[i]; for (int m = 0; m < 64; m++) v = v * 0.99f + 1; s[i] = v; }
  }
  z[blockIdx.x * blockDim.x + i] = s[i];
}
extern "C" __global__ void divergent(float *x, float *z, int t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  for (int k = 0; k < t; k++) {
    switch ((i + k) & 15) {  // fault: sixteen ways
    case 0: v = v * 1.01f + 1; break; case 1: v = v / 1.02f; break; case 2: v = sqrtf(fabsf(v)); break; case 3: v = v - 3; break;
    case 4: v = v * v * 1e-3f; break; case 5: v = fminf(v, 7); break; case 6: v = v + 6; break; case 7: v = 1 / (v + 2); break;
    case 8: v = v * 1.08f; break; case 9: v = expf(-fabsf(v)); break; case 10: v = v + 10; break; case 11: v = v * 0.11f; break;
    case 12: v = logf(fabsf(v) + 1); break; case 13: v = v - 13; break; case 14: v = v * 1.14f; break; default: v = v + 0.15f; }
  }
  z[i] = v;
}
extern "C" __global__ void __launch_bounds__(1024) strided_copy(const float *x, float *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  z[i] = x[(i % 4096) * 4096 + i / 4096];  // fault: uncoalesced
}
"""
