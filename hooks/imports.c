// A library calls a function of another one through a word of its global offset table, which relocations of the type JUMP_SLOT or
// GLOB_DAT describe. To replace the function, that word is changed.
#define _GNU_SOURCE
#include "imports.h"
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct request { const char *library, *symbol; void *function; int done; };

struct tables { const char *strings; const ElfW(Sym) *symbols; const ElfW(Rela) *calls, *others; size_t calls_size, others_size; };

#ifdef __x86_64__
static int names_function(unsigned type) { return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT; }
#elif defined __aarch64__
static int names_function(unsigned type) { return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT; }
#else
static int names_function(unsigned type) { return (void)type, 0; }
#endif

static struct tables tables_of(const struct dl_phdr_info *info) {
  struct tables t = {0};
  const ElfW(Dyn) *d = NULL;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (; d && d->d_tag != DT_NULL; d++) {
    // glibc has added the address of the library to these; musl has not.
    uintptr_t at = d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr + d->d_un.d_ptr : d->d_un.d_ptr;
    if (d->d_tag == DT_STRTAB) t.strings = (const void *)at;
    if (d->d_tag == DT_SYMTAB) t.symbols = (const void *)at;
    if (d->d_tag == DT_JMPREL) t.calls = (const void *)at;
    if (d->d_tag == DT_RELA) t.others = (const void *)at;
    if (d->d_tag == DT_PLTRELSZ) t.calls_size = d->d_un.d_val;
    if (d->d_tag == DT_RELASZ) t.others_size = d->d_un.d_val;
  }
  return t;
}

// protection returns that of the mapping that a word lies in: after relocation, a part of the table may be read-only.
static int protection(const struct dl_phdr_info *info, uintptr_t word) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t from = info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_GNU_RELRO && word >= from && word < from + p->p_memsz) return PROT_READ;
  }
  return PROT_READ | PROT_WRITE;
}

static int set(const struct dl_phdr_info *info, _Atomic uintptr_t *word, struct request *r) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)word & ~(page - 1);
  int was = protection(info, (uintptr_t)word);
  if (!(was & PROT_WRITE) && mprotect((void *)first, page, PROT_READ | PROT_WRITE)) return 0;
  *word = (uintptr_t)r->function;
  if (!(was & PROT_WRITE)) mprotect((void *)first, page, was);
  return 1;
}

static void search(const struct dl_phdr_info *info, const struct tables *t, const ElfW(Rela) *list, size_t size, struct request *r) {
  for (size_t i = 0; list && !r->done && i < size / sizeof *list; i++) {
    if (!names_function(ELF64_R_TYPE(list[i].r_info))) continue;
    if (strcmp(t->strings + t->symbols[ELF64_R_SYM(list[i].r_info)].st_name, r->symbol)) continue;
    r->done = set(info, (_Atomic uintptr_t *)(info->dlpi_addr + list[i].r_offset), r);
  }
}

static int visit(struct dl_phdr_info *info, size_t size, void *request) {
  (void)size;
  struct request *r = request;
  size_t n = strlen(info->dlpi_name), m = strlen(r->library);
  if (n < m || strcmp(info->dlpi_name + n - m, r->library)) return 0;
  struct tables t = tables_of(info);
  if (!t.strings || !t.symbols) return 1;
  search(info, &t, t.calls, t.calls_size, r);
  search(info, &t, t.others, t.others_size, r);
  return 1;
}

int imports_replace(const char *library, const char *symbol, void *function) {
  struct request r = {library, symbol, function, 0};
  dl_iterate_phdr(visit, &r);
  return r.done;
}
