// Queries that go to the registered vendors, see struct hp_vendor.
#ifndef GOPROTON_QUESTIONS_H
#define GOPROTON_QUESTIONS_H

struct hp_vendor;

int hp_stream_capturing(void *stream);
int hp_current_device(void);
// The vendor whose driver is capturing the stream, NULL if there is none.
const struct hp_vendor *hp_vendor_capturing(void *stream);

#endif
