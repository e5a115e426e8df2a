// Functions in sections of their own, as in modules for debuggers and in those that are linked of several files.
__device__ __noinline__ float leaf(float x) { return x * 2.0f; }
__device__ __noinline__ float middle(float x) { return leaf(x) + 1.0f; }
__device__ __noinline__ float chosen(float x) { return x - 1.0f; }
__device__ __noinline__ float unused_twin(float x) { return x - 2.0f; }
__device__ __noinline__ int again(int n) { return n < 2 ? n : again(n - 1) + again(n - 2); }

__device__ float (*const table[])(float) = {chosen, unused_twin};

extern "C" __global__ void one(float *out) { out[0] = middle(out[1]); }
extern "C" __global__ void two(float *out) { out[0] = leaf(out[1]); }
extern "C" __global__ void pointers(float *out, int i) { out[0] = table[i & 1](out[1]) + again(i); }
