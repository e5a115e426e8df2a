#ifndef GOPROTON_REFUSAL_H
#define GOPROTON_REFUSAL_H

// Why Go's runtime was not started in this process, NULL if it was. No function that Go exports may be called where it
// was not: the call would wait for ever.
const char *refusal(void);

// The same for Python's side, which then says it.
const char *proton_refusal(void);

// Whether it has been said, from the second call on.
int refusal_is_said(void);

// Gives addresses back that are held in reserve, once the program has lowered its limit. For one thread, every so often.
void addresses_if_limited(void);

#endif
