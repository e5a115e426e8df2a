// Heat spreading over a plate: a plain CUDA program that knows nothing of a profiler.
//
//   make && proton run ./heat        writes heat.hatchet
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

namespace {

constexpr int kWidth = 2048, kHeight = 2048;
constexpr int kSteps = 400, kStepsPerCheck = 40;

void check(cudaError_t status, const char *doing) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "heat: %s: %s\n", doing, cudaGetErrorString(status));
  std::exit(1);
}

__global__ void fill(float *plate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight) return;
  plate[y * kWidth + x] = y == 0 ? 100.0f : 0.0f; // one hot edge
}

// Every inner point becomes the mean of its four neighbours.
__global__ void spread(const float *from, float *to) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight) return;
  int at = y * kWidth + x;
  bool inside = x > 0 && x < kWidth - 1 && y > 0 && y < kHeight - 1;
  to[at] = inside ? 0.25f * (from[at - 1] + from[at + 1] + from[at - kWidth] + from[at + kWidth]) : from[at];
}

// The largest change of one step. Changes are never negative, so their bits order like integers.
__global__ void largest_change(const float *a, const float *b, int *largest) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kWidth * kHeight; i += gridDim.x * blockDim.x)
    mine = fmaxf(mine, fabsf(a[i] - b[i]));
  for (int offset = 16; offset > 0; offset /= 2) mine = fmaxf(mine, __shfl_down_sync(0xffffffffu, mine, offset));
  if (threadIdx.x % 32 == 0) atomicMax(largest, __float_as_int(mine));
}

float change_of(const float *a, const float *b, int *largest) {
  check(cudaMemset(largest, 0, sizeof *largest), "clear the largest change");
  largest_change<<<256, 256>>>(a, b, largest);
  check(cudaGetLastError(), "launch largest_change");
  float change;
  check(cudaMemcpy(&change, largest, sizeof change, cudaMemcpyDeviceToHost), "read the largest change");
  return change;
}

} // namespace

int main() {
  const size_t bytes = sizeof(float) * kWidth * kHeight;
  float *plate, *next;
  int *largest;
  check(cudaMalloc(&plate, bytes), "allocate the plate");
  check(cudaMalloc(&next, bytes), "allocate the next plate");
  check(cudaMalloc(&largest, sizeof *largest), "allocate the largest change");

  const dim3 block(32, 8), grid((kWidth + 31) / 32, (kHeight + 7) / 8);
  fill<<<grid, block>>>(plate);
  float change = 0;
  for (int step = 1; step <= kSteps; step++) {
    spread<<<grid, block>>>(plate, next);
    if (step % kStepsPerCheck == 0) change = change_of(plate, next, largest);
    float *old = plate;
    plate = next;
    next = old;
  }
  check(cudaDeviceSynchronize(), "run the simulation");

  std::vector<float> result(kWidth * kHeight);
  check(cudaMemcpy(result.data(), plate, bytes, cudaMemcpyDeviceToHost), "read the plate");
  std::printf("after %d steps: %.3f degrees next to the hot edge, last change %.5f\n", kSteps, result[kWidth + kWidth / 2],
              change);
  return 0;
}
