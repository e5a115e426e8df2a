// The libraries that the process has loaded.
#define _GNU_SOURCE
#include "room.h"

#include <link.h>
#include <string.h>

struct search { const char *name, *path; };

static int is_wanted(struct dl_phdr_info *info, size_t size, void *argument) {
  (void)size;
  struct search *s = argument;
  const char *name = strrchr(info->dlpi_name, '/');
  name = name ? name + 1 : info->dlpi_name;
  size_t length = strlen(s->name);
  if (strncmp(name, s->name, length) || (name[length] && name[length] != '.')) return 0;
  s->path = info->dlpi_name;
  return 1;
}

const char *loaded_library(const char *name) {
  struct search s = {name, ""};
  dl_iterate_phdr(is_wanted, &s);
  return s.path;
}
