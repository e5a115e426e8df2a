// lines LIBCUPTI: prints CUPTI's source lines of instructions. For each line "CUBIN<tab>FUNCTION<tab>BYTES" of standard input
// it prints a line "FUNCTION+0xOFFSET<tab>FOLDER/FILE:LINE" for each instruction, or "!CODE" after the tab if CUPTI returned
// an error.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct params { // CUpti_GetSassToSourceCorrelationParams
  size_t size;
  const void *cubin;
  const char *function;
  size_t cubin_size;
  uint32_t line;
  uint64_t offset;
  char *file, *folder; // the caller frees them
};

static uint32_t (*correlate)(struct params *);

static void *read_file(const char *name, size_t *size) {
  FILE *f = fopen(name, "rb");
  char *bytes = NULL;
  size_t room = 0, n;
  *size = 0;
  if (!f) return NULL;
  do {
    if (*size == room) bytes = realloc(bytes, room = room ? 2 * room : 1 << 16);
    n = fread(bytes + *size, 1, room - *size, f);
    *size += n;
  } while (n);
  fclose(f);
  return bytes;
}

static void print(struct params *p) {
  uint32_t rc = correlate(p);
  if (rc) printf("%s+0x%llx\t!%u\n", p->function, (unsigned long long)p->offset, rc);
  else printf("%s+0x%llx\t%s/%s:%u\n", p->function, (unsigned long long)p->offset, p->folder ? p->folder : "", p->file ? p->file : "", p->line);
  free(p->file);
  free(p->folder);
}

int main(int argc, char **argv) {
  char line[1 << 16];
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library) correlate = (uint32_t (*)(struct params *))dlsym(library, "cuptiGetSassToSourceCorrelation");
  if (!correlate) return fprintf(stderr, "lines: %s\n", argc == 2 ? dlerror() : "name a libcupti"), 1;
  while (fgets(line, sizeof line, stdin)) {
    char *file = strtok(line, "\t"), *function = strtok(NULL, "\t"), *bytes = strtok(NULL, "\n");
    struct params p = {.size = sizeof p, .function = function};
    if (!bytes || !(p.cubin = read_file(file, &p.cubin_size))) return fprintf(stderr, "lines: cannot read %s\n", file), 1;
    for (uint64_t end = strtoull(bytes, NULL, 0), at = 0; at < end; at += 16) {
      p.offset = at, p.line = 0, p.file = p.folder = NULL;
      print(&p);
    }
    free((void *)p.cubin);
  }
  return 0;
}
