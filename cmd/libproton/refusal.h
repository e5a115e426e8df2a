// Whether Go's runtime was started in this process.
#ifndef GOPROTON_REFUSAL_H
#define GOPROTON_REFUSAL_H

// The reason why Go's runtime was not started, NULL if it was. If it was not, no function that Go exports may be called: the call
// would not return.
const char *refusal(void);

// Whether the reason has been reported: 0 at the first call, which is expected to report it, then 1.
int refusal_is_said(void);

// Releases the reserved addresses if the program has lowered its limit. One thread calls it regularly.
void addresses_if_limited(void);

#endif
