from triton.tools.tensor_descriptor import TensorDescriptor


def _tensor_descriptor(name, described, memory):
    return TensorDescriptor(memory.views[id(described["base"])], described["shape"], described["strides"], described["block_shape"],
                            described.get("padding", "zero"))


_BUILDERS["TensorDescriptor"] = _tensor_descriptor
