// The variables of the environment that both libraries read.
#include "stub.h"

#include <stdlib.h>
#include <string.h>

uint64_t stub_number(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

uint32_t stub_result(const char *function) {
  const char *at = getenv("PROTON_STUB_RESULTS");
  size_t length = strlen(function);
  while (at && *at) {
    if (!strncmp(at, function, length) && at[length] == '=') return (uint32_t)strtoul(at + length + 1, NULL, 10);
    at = strchr(at, ',');
    if (at) at++;
  }
  return 0;
}
