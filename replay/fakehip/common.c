// The variables of the environment that the fake libraries read.
#include "stub.h"

#include <stdlib.h>
#include <string.h>

uint64_t stub_number(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int stub_result(const char *function) {
  const char *at = getenv("PROTON_STUB_RESULTS");
  size_t length = strlen(function);
  while (at && *at) {
    if (!strncmp(at, function, length) && at[length] == '=') return (int)strtol(at + length + 1, NULL, 10);
    size_t prefix = strcspn(at, "*=");
    if (at[prefix] == '*' && !strncmp(at, function, prefix)) return (int)strtol(at + prefix + 2, NULL, 10);
    at = strchr(at, ',');
    if (at) at++;
  }
  return 0;
}

const char *stub_order(const char *verb) {
  const char *at = getenv("PROTON_STUB_SCRIPT");
  size_t length = strlen(verb);
  while (at && *at) {
    at += strspn(at, " \t\n;");
    if (!strncmp(at, verb, length) && strchr(" \n;", at[length])) return at + length + strspn(at + length, " "); // strchr finds the end, too
    at = strpbrk(at, "\n;");
  }
  return NULL;
}

int stub_named(const char *words, const char *name) {
  size_t length = name ? strlen(name) : 0;
  while (words && length && *words && !strchr("\n;", *words)) {
    size_t word = strcspn(words, " \n;");
    if (word == length && !strncmp(words, name, length)) return 1;
    words += word + strspn(words + word, " ");
  }
  return 0;
}
