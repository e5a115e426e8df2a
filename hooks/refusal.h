// What the library that this room is in says when the extension module is imported.
#ifndef GOPROTON_HOOKS_REFUSAL_H
#define GOPROTON_HOOKS_REFUSAL_H

// The reason why Go's runtime was not started in this process, NULL if it was. A call into Go that was not started does not return.
// The library sets the function before the module can be imported; in the tests' library it stays NULL.
extern const char *(*hooks_refusal)(void);

#endif
