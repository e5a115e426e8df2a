// CUTLASS 3's persistent, warp-specialised matrix product on Hopper: one warpgroup loads through the tensor memory
// accelerator, two multiply. The templates are those of the wheel nvidia-cutlass.
#include <cuda/std/cstdint>
#include <cuda/std/cassert>
#include <cuda/std/type_traits>
namespace std { // NVRTC has no standard library, and these headers want two names of it
template <class T> inline constexpr bool is_pointer_v = cuda::std::is_pointer_v<T>;
template <class...> using void_t = void;
}
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using namespace cute;
using Block = Shape<_128, _128, _64>;
using Cluster = Shape<_2, _1, _1>;
using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Block, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float,
    cutlass::half_t, cutlass::layout::RowMajor, 8, cutlass::half_t, cutlass::layout::RowMajor, 8,
    cutlass::epilogue::TmaWarpSpecializedCooperative>::CollectiveOp;
using Main = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, cutlass::half_t, cutlass::layout::RowMajor, 8, cutlass::half_t,
    cutlass::layout::ColumnMajor, 8, float, Block, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
using Gemm = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Main, Epilogue>;

extern "C" __global__ void __launch_bounds__(Gemm::MaxThreadsPerBlock, 1) cute_gemm(__grid_constant__ const Gemm::Params params) {
  extern __shared__ char storage[];
  Gemm()(params, storage);
}
