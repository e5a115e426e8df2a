// Prints the kernel that stores tensors.
#include "../../tensor_ptx.h"
#include <stdio.h>

int main(void) { return fputs(tensor_ptx, stdout) < 0; }
