"""
{{REPRODUCER_METADATA_PLACEHOLDER}}

An operator of TritonBench (github.com/meta-pytorch/tritonbench). Run this file where tritonbench can be imported; options are
TritonBench's own: --metrics latency,gpu_peak_mem --cudagraph --rep 200
"""

import sys

from tritonbench.utils.triton_op import REGISTERED_X_VALS, BenchmarkOperator, register_benchmark

# {{CONTEXT_JSON_PLACEHOLDER}}

# {{COMPILATION_JSON_PLACEHOLDER}}

# {{UTILITY_FUNCTIONS_PLACEHOLDER}}

# {{IR_OVERRIDE_SETUP_PLACEHOLDER}}

# {{KERNEL_SYSPATH_PLACEHOLDER}}

# {{KERNEL_IMPORT_PLACEHOLDER}}

KERNEL_NAME = "{{KERNEL_NAME_PLACEHOLDER}}"


def make_args():
    # {{LAUNCH_KERNEL_BODY_PLACEHOLDER}}

    # {{VERBOSE_ARGS_PRINT_PLACEHOLDER}}
    return grid, args_dict


def launch(grid, args_dict):
    # {{KERNEL_INVOCATION_PLACEHOLDER}}
    return compiled


class Operator(BenchmarkOperator):
    def __init__(self, *options):
        self.grid, self.args_dict = make_args()  # before TritonBench sets seeds of its own
        super().__init__(*options)

    @register_benchmark(operator_name=KERNEL_NAME)
    def run_kernel(self, tensors):
        args_dict = {**self.args_dict, **tensors}
        return lambda: launch(self.grid, args_dict)

    def get_input_iter(self):
        """The tensors, which TritonBench may convert; it takes arguments of a few types only."""
        yield {"tensors": {name: value for name, value in self.args_dict.items() if torch.is_tensor(value) and str(value.device) != "cpu"}}

    def get_x_val(self, example_inputs):
        return tuple(tuple(value.shape) for value in example_inputs["tensors"].values())


REGISTERED_X_VALS[KERNEL_NAME] = "shapes of the tensors"

if __name__ == "__main__":
    from tritonbench.utils.parser import get_parser

    arguments = ["--benchmark-name", KERNEL_NAME, *sys.argv[1:]]  # without it the operator is named after its module
    options, others = get_parser(arguments).parse_known_args(arguments)
    operator = Operator(options, others)
    operator.run(warmup=options.warmup, rep=options.rep)
    print(operator.output)
