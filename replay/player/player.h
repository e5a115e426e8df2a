// Plays a capture: the recorded program's threads, scopes and control calls. The vendor's part plays what the vendor's library
// reported.
#ifndef GOPROTON_PLAYER_H
#define GOPROTON_PLAYER_H

#include "hotpath.h"
#include "reader.h"

struct player_vendor {
  // Before anything is played: NULL, or what is wrong with the capture. It may set the events' times.
  const char *(*begin)(struct capture *c);
  // An event of the vendor's, on the thread that is to have it.
  void (*play)(const struct capture *c, const struct cap_event *e);
  // After the last event.
  void (*end)(void);
};

// Plays a capture on its recorded threads, in its order. Program events go through api; control calls to control (NULL:
// left out). Returns NULL, or what went wrong.
const char *player_play(const char *path, const struct player_vendor *vendor, const struct hp_api *api,
                        void (*control)(const char *method, const char *params));
// Whether a capture is or was played in this process.
int replaying(void);

// ---- program.c: what the program did ----
void program_begin(const struct capture *c, const struct hp_api *api, void (*control)(const char *method, const char *params));
void play_program(const struct capture *c, const struct cap_event *e);
void program_end(void);
void program_clock(uint64_t time); // what timelines are stamped with

#endif
