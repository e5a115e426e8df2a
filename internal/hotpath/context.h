// The GPU contexts that launched something: a flush has to synchronise each of them.
#ifndef GOPROTON_CONTEXT_H
#define GOPROTON_CONTEXT_H

enum { HP_CONTEXTS = 64 };

void hp_context_seen(void *ctx);
void hp_context_gone(void *ctx);
int hp_contexts(void **out); // at most HP_CONTEXTS

#endif
