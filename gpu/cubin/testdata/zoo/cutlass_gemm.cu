// CUTLASS's multistage matrix product on Ampere's tensor cores. The templates are those of the wheel nvidia-cutlass.
#include <cuda/std/cstdint>
#include <cuda/std/cassert>
#include <cutlass/cutlass.h>
#include <cutlass/gemm/kernel/default_gemm.h>
#include <cutlass/epilogue/thread/linear_combination.h>

using Epilogue = cutlass::epilogue::thread::LinearCombination<cutlass::half_t, 8, float, float>;
using Gemm = cutlass::gemm::kernel::DefaultGemm<
    cutlass::half_t, cutlass::layout::RowMajor, 8, cutlass::half_t, cutlass::layout::ColumnMajor, 8, cutlass::half_t,
    cutlass::layout::RowMajor, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, cutlass::gemm::GemmShape<128, 128, 32>,
    cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>, Epilogue,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3, false, cutlass::arch::OpMultiplyAdd>::GemmKernel;

extern "C" __global__ void __launch_bounds__(Gemm::kThreadCount) cutlass_gemm(Gemm::Params params) {
  extern __shared__ char storage[];
  Gemm()(params, *reinterpret_cast<Gemm::SharedStorage *>(storage));
}
