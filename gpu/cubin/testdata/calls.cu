// Calls that stay calls: a function that two kernels share, one that only another function calls, recursion, calls through
// pointers and virtual functions, lambdas, and the slow path of a division that the compiler brings along.
struct Shape {
  __device__ virtual float area(float x) const = 0;
};
struct Square : Shape {
  __device__ float area(float x) const override { return x * x; }
};
struct Circle : Shape {
  __device__ float area(float x) const override { return 3.14159f * x * x; }
};

__device__ __noinline__ float leaf(float x, int n) {
  for (int i = 0; i < n; i++)
    x = x * 1.0001f + __sinf(x);
  return x;
}

__device__ __noinline__ float middle(float x, int n) {
  return leaf(x + 1.0f, n) * leaf(x - 1.0f, n / 2);
}

__device__ __noinline__ int steps(int n) {
  return n < 2 ? n : steps(n - 1) + steps(n - 2);
}

template <class F> __device__ __noinline__ float twice(F f, float x) {
  return f(f(x));
}

__device__ __noinline__ float half_of(float x) { return x * 0.5f + sqrtf(x); }
__device__ __noinline__ float third_of(float x) { return x / 3.0f + expf(x); }

__device__ float (*const table[])(float) = {half_of, third_of};

extern "C" __global__ void shared_leaf(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = middle(in[i], n);
}

extern "C" __global__ void own_leaf(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float scale = in[0];
  auto scaled = [=](float v) { return v * scale + 1.0f; };
  out[i] = leaf(in[i], n) + twice(scaled, in[i]) + [&] { return in[i + 1] * scale; }();
}

extern "C" __global__ void recursive(int *out, int n) {
  out[threadIdx.x] = steps(n + threadIdx.x);
}

extern "C" __global__ void through_pointers(float *out, const float *in, int which) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Square square;
  Circle circle;
  const Shape *shape = which & 2 ? (const Shape *)&square : (const Shape *)&circle;
  out[i] = table[which & 1](in[i]) + shape->area(in[i]);
}

extern "C" __global__ void divides(double *out, const double *in, float *small) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] / in[i + 1];
  small[i] = small[i] / small[i + 1] + sinf(small[i + 2] * 1e6f);
}
