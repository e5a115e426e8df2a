// Functions that one loaded library imports from another.
#ifndef GOPROTON_IMPORTS_H
#define GOPROTON_IMPORTS_H

// imports_replace has a loaded library call `function` in place of a symbol that it imports. `library` is the end of its path. It
// returns 0 if the library is not loaded or does not import the symbol in the usual way. What was called before is for the caller to
// find by dlsym: the replaced word may be the dynamic linker's own, which looks the symbol up and would undo the replacement.
int imports_replace(const char *library, const char *symbol, void *function);

#endif
