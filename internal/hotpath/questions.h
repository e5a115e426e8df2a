// Queries that go to the registered vendors, see struct hp_vendor.
#ifndef GOPROTON_QUESTIONS_H
#define GOPROTON_QUESTIONS_H

int hp_stream_capturing(void *stream);
int hp_current_device(void);

#endif
