"""
{{REPRODUCER_METADATA_PLACEHOLDER}}
"""

# {{KERNEL_SYSPATH_PLACEHOLDER}}

# {{KERNEL_IMPORT_PLACEHOLDER}}


def compile_kernel():
    # {{KERNEL_COMPILATION_PLACEHOLDER}}
    return compiled


if __name__ == "__main__":
    compile_kernel()
    print(f"{{KERNEL_NAME_PLACEHOLDER}} is compiled by Triton {triton.__version__}: the recorded error does not happen.")
