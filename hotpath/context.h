// The GPU contexts that launched something: a flush has to synchronise each of them.
#ifndef GOPROTON_CONTEXT_H
#define GOPROTON_CONTEXT_H

enum { HP_CONTEXTS = 64 };

void hp_context_seen(void *ctx);
void hp_context_gone(void *ctx);
// hp_contexts_forget forgets all contexts: after it, the vendor's library no longer reports when one is destroyed.
void hp_contexts_forget(void);
// hp_on_first_context has f called once, on the thread that first launches something. It is for what must
// come after the GPU's own initialisation, like registering an exit handler that must run before its.
void hp_on_first_context(void (*f)(void));
int hp_contexts(void **out); // at most HP_CONTEXTS

#endif
