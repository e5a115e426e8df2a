// Instructions that few kernels use: textures, surfaces, atomics of all kinds, matrix products of small types, votes,
// asynchronous copies, clusters. It only has to compile.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *out) {
  int i = threadIdx.x;
  float x = i * 0.1f;
  float4 sum = tex1D<float4>(t, x);
  float4 more[] = {tex2D<float4>(t, x, x), tex3D<float4>(t, x, x, x), tex2DLod<float4>(t, x, x, x), tex2Dgather<float4>(t, x, x, 1),
                   tex1Dfetch<float4>(t, i), tex2DGrad<float4>(t, x, x, make_float2(x, x), make_float2(x, 1)), texCubemap<float4>(t, x, x, x)};
  for (float4 m : more)
    sum.x += m.x * m.w;
  surf2Dwrite(sum, s, 16 * i, i);
  float4 back;
  surf2Dread(&back, s, 16 * i, i + 1);
  unsigned w, h;
  asm volatile("txq.width.b32 %0, [%2]; suq.height.b32 %1, [%3];" : "=r"(w), "=r"(h) : "l"(t), "l"(s));
  asm volatile("sured.b.add.u32.2d.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(4 * i), "r"(i), "r"(w));
  sum.y += back.z + w * h;
  out[i] = sum;
}

extern "C" __global__ void atomics(int *p, unsigned long long *q, float *f, double *d, __half2 *h, __nv_bfloat162 *b) {
  __shared__ int s[64];
  __shared__ double sd[64];
  int i = threadIdx.x & 63;
  s[i] = p[i];
  sd[i] = d[i];
  __syncthreads();
  int got = atomicAdd(s + (i ^ 1), i) + atomicCAS(s + (i ^ 2), i, got) + atomicMax(s + (i ^ 3), i) + atomicExch(s + (i ^ 4), i);
  got += atomicAdd(p + i, 1) + atomicCAS(p + i, 1, 2) + atomicXor(p + i, 3) + atomicExch(p + i + 1, 4);
  got += (int)atomicCAS(q + i, 3ull, 4ull) + (int)atomicMin(q + i, 8ull);
  atomicAdd(q + i + 1, 5ull);
  atomicAdd(f + i, 0.5f);
  atomicAdd(d + i, 0.5 + sd[i]);
  atomicAdd(sd + i, 1.0);
  atomicAdd(h + i, __floats2half2_rn(1, 2));
  atomicAdd(b + i, __floats2bfloat162_rn(1, 2));
  int *generic = got & 1 ? s + i : p + i;
  p[i] = got + s[i] + atomicAdd(generic, 7) + atomicCAS(generic, 3, 4);
  __threadfence_system();
}

extern "C" __global__ void integers(int *p, unsigned *u, long long *l, int n) {
  int i = threadIdx.x, a = p[i], b = p[i + 1];
  unsigned x = u[i], y = u[i + 1], mask = __activemask();
  int r = __dp4a(a, b, i) + __dp2a_lo(a, b, i) + __popc(x) + __brev(x) + __clz(x) + __ffs(x) + __funnelshift_l(x, y, a);
  r += __byte_perm(x, y, a) + __sad(a, b, x) + __vadd4(a, b) + __vabsdiffu2(a, b) + __vmaxs2(a, b) + min(a, max(b, i)) + abs(a);
  r += __mulhi(a, b) + a / b + a % n + (a ? __popcll(l[i]) : 0) + (x >> (y & 31)) + (int)__brevll(l[i + 1]) + __ffsll(l[i]);
  r += __shfl_sync(mask, a, b) + __shfl_xor_sync(mask, b, 3) + __ballot_sync(mask, a > b) + __any_sync(mask, a < n);
  r += __match_any_sync(mask, a) + __reduce_add_sync(mask, x) + __reduce_max_sync(mask, b) + __reduce_xor_sync(mask, y);
  bool first;
  r += __viaddmax_s32(a, b, i) + __vimax3_s32(a, b, i) + __vibmax_s32(a, b, &first) + first;
  int all;
  r += __match_all_sync(mask, b, &all) + all;
  long long c = clock64();
  l[i] = c * a + (c >> b) + (l[i] / (c | 1)) + (long long)llrintf(x);
  p[i] = r + clock();
  __syncwarp();
  if (__syncthreads_count(r) > 3)
    __nanosleep(100);
  if (r == 77)
    __trap();
  if (r == 78)
    __brkpt();
}

extern "C" __global__ void floats(float *f, double *d, __half2 *h, __nv_bfloat162 *b, int n) {
  int i = threadIdx.x;
  float x = f[i], y = f[i + 1];
  float r = sqrtf(x) + rsqrtf(y) + __expf(x) + __logf(y) + __sinf(x) + __cosf(y) + tanhf(x) + fminf(x, fmaxf(y, n)) + truncf(x) + rintf(y);
  r += x / y + fmodf(x, y) + erff(x) + (isnan(x) ? 1 : 2) + __fdividef(x, y) + (float)(long long)x + (float)(unsigned char)n + (int)y + __saturatef(x);
  double u = d[i], v = d[i + 1];
  d[i] = u / v + sqrt(u) + fmin(u, v) + (u > v ? 1 : floor(v)) + (double)x + (long long)v + rint(u) + exp(v) + (int)u;
  __half2 p = h[i], q = h[i + 1];
  h[i] = __hfma2(p, q, __hadd2(p, q)) * __hmax2(p, __hmul2(q, q)) + h2exp2(p) + h2rcp(q) + __float2half2_rn(x) + (__hgt(p.x, q.y) ? p : h2trunc(q)) + __hneg2(p) + __hle2(p, q);
  __nv_bfloat162 s = b[i], t = b[i + 1];
  b[i] = __hfma2(s, t, s) + __hmax2(s, t) + __float2bfloat162_rn(y) + h2sqrt(s) + __hgt2(s, t);
  f[i] = r + __half2float(p.x) + (float)u + __bfloat162float(s.y);
}

template <class T, class A, int M, int N, int K, class P = void> __device__ void product(const T *a, A *c) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, M, N, K, A> z;
  wmma::load_matrix_sync(x, a, K);
  wmma::load_matrix_sync(y, a + 64, K);
  wmma::fill_fragment(z, A(0));
  wmma::mma_sync(z, x, y, z);
  wmma::store_matrix_sync(c, z, N, wmma::mem_row_major);
}

extern "C" __global__ void products(const half *h, half *hh, const signed char *b, int *i, const double *d, double *dd, float *f, const __nv_bfloat16 *bf) {
  product<half, float, 16, 16, 16>(h, f);
  product<half, half, 16, 16, 16>(h, hh);
  product<signed char, int, 16, 16, 16>(b, i);
  product<double, double, 8, 8, 4>(d, dd);
  product<__nv_bfloat16, float, 16, 16, 16>(bf, f + 256);
  wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> z;
  wmma::load_matrix_sync(x, b, 128);
  wmma::load_matrix_sync(y, b, 128);
  wmma::fill_fragment(z, 0);
  wmma::bmma_sync(z, x, y, z, wmma::experimental::bmmaBitOpAND);
  wmma::store_matrix_sync(i + 256, z, 8, wmma::mem_row_major);
  unsigned t[2], s = (unsigned)__cvta_generic_to_shared(f);
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t[0]) : "r"(i[0]));
  unsigned e = i[1], m[4] = {e, e + 1, e + 2, e + 3}, o[2] = {0, 0};
  asm volatile("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4,%5}, {%0,%1}, %6, 0x0;"
               : "+r"(o[0]), "+r"(o[1]) : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(e));
  i[3] = t[0] + o[0] + o[1] + s;
}

extern "C" __global__ void copies(int4 *out, const int4 *in, int n) {
  __shared__ int4 tile[256];
  __shared__ unsigned long long barrier;
  unsigned at = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x), bar = (unsigned)__cvta_generic_to_shared(&barrier);
  asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(bar));
  __syncthreads();
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group;" ::"r"(at), "l"(in + threadIdx.x));
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar));
  asm volatile("cp.async.wait_group 0;");
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar));
  int done;
  do
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}" : "=r"(done) : "r"(bar), "l"(state));
  while (!done);
  asm volatile("prefetch.global.L2 [%0]; discard.global.L2 [%1], 128;" ::"l"(in + 999), "l"(out + 1024));
  int4 *generic = n & 1 ? tile : out + 4096;
  generic[n & 255] = tile[threadIdx.x ^ 5];
  __stwt(out + threadIdx.x, __ldcs(in + n));
  out[n] = generic[n & 127];
  char local[64];
  for (int i = 0; i < n; i++)
    local[i] = i * n;
  out[n + 1].x = local[n / 2] + __isShared(generic);
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
  unsigned other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(other) : "r"(at));
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(other), "r"(n), "r"(bar));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(at), "l"(in), "r"(bar));
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 1024;" ::"l"(out), "r"(at));
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(in + 77));
  asm volatile("fence.proxy.async; griddepcontrol.launch_dependents; griddepcontrol.wait;");
#endif
}
