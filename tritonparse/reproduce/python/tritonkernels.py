try:
    import triton_kernels.tensor as _triton_kernels
    _triton_kernels.Storage
except (ImportError, AttributeError):
    raise RuntimeError("this launch has arguments of Triton's package triton_kernels, which is not installed; PyPI has another of that name: "
                       'pip install "git+https://github.com/triton-lang/triton.git#subdirectory=python/triton_kernels"') from None


def _triton_kernels_tensor(name, described, memory):
    storage = _triton_kernels_storage(name, described["storage"], memory)
    # A size that was computed on the GPU is not a number in the trace; its upper limit is.
    shape = [size if isinstance(size, int) else most for size, most in zip(described["shape"], described.get("shape_max") or described["shape"])]
    return _triton_kernels.Tensor(storage, _element_type(described.get("dtype"), storage.data), shape, described.get("shape_max"))


def _triton_kernels_storage(name, described, memory):
    return _triton_kernels.Storage(memory.views[id(described["data"])], _layout(name, described.get("layout")))


def _element_type(described, data):
    if isinstance(described, dict):  # of triton_kernels' own, such as the four bits of FP4
        return (_triton_kernels.FloatType if "bitwidth_exponent" in described else _triton_kernels.IntegerType)(**described)
    return _dtype(described) if described and described.startswith("torch.") else data.dtype


def _layout(name, described):
    """How the data came to lie as they lie. Versions of triton_kernels have layouts of other classes and parameters."""
    if not isinstance(described, dict):
        return None
    members = {key: value for key, value in described.items() if key not in ("type", "name")}
    for kind in _kinds(_triton_kernels.Layout):
        parameters = getattr(kind, "__dataclass_fields__", ())
        if kind.__name__ != described.get("type") and ("type" in described or set(parameters) != set(described)):
            continue
        try:
            return kind(**members) if parameters else kind(described["initial_shape"])
        except (KeyError, TypeError):  # not all that it was made of is in the trace, and no launch asks for it
            layout = object.__new__(kind)
            vars(layout).update(members)
            return layout
    raise TypeError(f"argument {name}: the installed triton_kernels has no layout like {described}")


def _kinds(base):
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


_BUILDERS["triton_kernels.tensor.Tensor"] = _triton_kernels_tensor
_BUILDERS["triton_kernels.tensor.Storage"] = _triton_kernels_storage
