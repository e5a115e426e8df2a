#ifndef GOPROTON_REFUSAL_H
#define GOPROTON_REFUSAL_H

// Why Go's runtime was not started in this process, NULL if it was. No function that Go exports may be called where it
// was not: the call would wait for ever.
__attribute__((visibility("default"))) const char *proton_refusal(void);

#endif
