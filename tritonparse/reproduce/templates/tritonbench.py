"""
{{REPRODUCER_METADATA_PLACEHOLDER}}

An operator of TritonBench; run by itself it is timed with TritonBench's own defaults.
"""

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
    @register_benchmark(operator_name=KERNEL_NAME)
    def run_kernel(self, grid, args_dict):
        return lambda: launch(grid, args_dict)

    def get_input_iter(self):
        grid, args_dict = make_args()
        yield {"grid": grid, "args_dict": args_dict}

    def get_x_val(self, example_inputs):
        return tuple(tuple(v.shape) for v in example_inputs["args_dict"].values() if torch.is_tensor(v))


REGISTERED_X_VALS[KERNEL_NAME] = "shapes of the tensors"

if __name__ == "__main__":
    from tritonbench.utils.parser import get_parser

    options, _ = get_parser(["--op", KERNEL_NAME]).parse_known_args(["--op", KERNEL_NAME])
    operator = Operator(options, [])
    operator.run()
    print(operator.output)
