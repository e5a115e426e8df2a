"""What goproton.torch and metrics of tensors need: each module is imported when the first program asks for it."""

BACKWARD, OPERATORS, MODULES, WORK = 1, 2, 4, 8  # the TORCH_... of hooks/torchabi.h
