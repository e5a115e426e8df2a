// embed LIBPYTHON CODE ARGUMENT: runs Python code with a libpython whose symbols are not in the global scope.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) return fprintf(stderr, "open %s: %s\n", argv[1], dlerror()), 2;
  if (dlsym(RTLD_DEFAULT, "Py_IncRef")) return fputs("libpython is in the global scope: the test proves nothing\n", stderr), 2;
  void (*initialize)(int) = (void (*)(int))dlsym(library, "Py_InitializeEx");
  int (*run)(const char *) = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
  int (*finalize)(void) = (int (*)(void))dlsym(library, "Py_FinalizeEx");
  setenv("EMBED_ARGUMENT", argv[3], 1);
  initialize(0);
  int failed = run(argv[2]);
  return finalize() || failed;
}
