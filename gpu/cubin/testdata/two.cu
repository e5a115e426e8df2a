// Two kernels, an inlined chain, a function that stays a function, and an array that lives in local memory.
struct Half { float v; __device__ float twice() const { return v + v; } };

__device__ __forceinline__ float scale(float x, float k) {
  return x * k + 1.0f;
}

__device__ __forceinline__ float polynomial(float x) {
  float y = scale(x, 3.0f);
  return y * scale(y, 0.5f);
}

__device__ __noinline__ float slow(float x, int n) {
  for (int i = 0; i < n; i++)
    x = polynomial(x) * 0.001f;
  return x;
}

extern "C" __global__ void __launch_bounds__(256) first(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = polynomial(in[i]) + Half{in[i]}.twice();
}

extern "C" __global__ void second(float *out, const float *in, int n, int k) {
  __shared__ float tile[512];
  float local[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 64; j++)
    local[j] = in[(i + j * k) % n];
  tile[threadIdx.x] = slow(local[k & 63], k);
  __syncthreads();
  out[i] = tile[(threadIdx.x + 1) & 511] + local[i & 63];
}
