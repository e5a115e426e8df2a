from triton.tools.tensor_descriptor import TensorDescriptor


def _tensor_descriptor(name, told, memory):
    return TensorDescriptor(memory.views[id(told["base"])], told["shape"], told["strides"], told["block_shape"],
                            told.get("padding", "zero"))


_BUILDERS["TensorDescriptor"] = _tensor_descriptor
