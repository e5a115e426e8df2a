from triton.tools import tensor_descriptor


def _tensor_descriptor(name, described, memory):
    if "class" in described:  # Gluon's, which has a layout
        given = {"base": memory.views[id(described["base"])], **{key: described[key] for key in ("shape", "strides", "block_shape", "padding")}}
        made = _filled(_known(described["class"]), {**given, **{key: _argument(name, each, memory) for key, each in described["fields"].items()}})
        if made is None:
            raise _unknown(name, described)
        return made
    return tensor_descriptor.TensorDescriptor(memory.views[id(described["base"])], described["shape"], described["strides"], described["block_shape"],
                                             described.get("padding", "zero"))


_BUILDERS["TensorDescriptor"] = _tensor_descriptor
