"""
{{REPRODUCER_METADATA_PLACEHOLDER}}
"""

# {{CONTEXT_JSON_PLACEHOLDER}}

# {{COMPILATION_JSON_PLACEHOLDER}}

# {{UTILITY_FUNCTIONS_PLACEHOLDER}}

# {{BENCHMARK_FUNCTIONS_PLACEHOLDER}}

# {{IR_OVERRIDE_SETUP_PLACEHOLDER}}

# {{KERNEL_SYSPATH_PLACEHOLDER}}

# {{KERNEL_IMPORT_PLACEHOLDER}}


def make_args():
    # {{LAUNCH_KERNEL_BODY_PLACEHOLDER}}
    return grid, args_dict


def launch(grid, args_dict):
    # {{KERNEL_INVOCATION_PLACEHOLDER}}
    return compiled


if __name__ == "__main__":
    sys.exit(benchmark(make_args, launch, load_context()))
