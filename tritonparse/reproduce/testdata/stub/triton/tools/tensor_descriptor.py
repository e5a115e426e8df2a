import dataclasses


@dataclasses.dataclass
class TensorDescriptor:
    base: object
    shape: list
    strides: list
    block_shape: list
    padding: str = "zero"
