try:
    import triton_kernels.tensor as _triton_kernels
except ImportError:
    raise RuntimeError("this launch has arguments of the package triton_kernels, which is not installed: "
                       "pip install triton_kernels") from None


def _triton_kernels_tensor(name, told, memory):
    data, layout = memory.views[id(told["storage"]["data"])], told["storage"].get("layout") or {}
    make = getattr(_triton_kernels, layout.get("type", "StridedLayout"), None)
    if make is None:
        raise TypeError(f"argument {name}: the installed triton_kernels has no layout {layout.get('type')}")
    storage = _triton_kernels.Storage(data, make(layout.get("initial_shape", list(data.shape))))
    dtype = told.get("dtype", "")
    dtype = _dtype(dtype) if dtype.startswith("torch.") else data.dtype
    return _triton_kernels.Tensor(storage, dtype, told["shape"], told.get("shape_max"))


_BUILDERS["triton_kernels.tensor.Tensor"] = _triton_kernels_tensor
