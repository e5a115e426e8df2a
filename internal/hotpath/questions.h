// What the program's side asks the vendors that are known: see struct hp_vendor.
#ifndef GOPROTON_QUESTIONS_H
#define GOPROTON_QUESTIONS_H

int hp_stream_capturing(void *stream);
int hp_current_device(void);

#endif
