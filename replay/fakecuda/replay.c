// Plays CUPTI's part of a capture.
#include "replay.h"

#include "check.h"
#include "replay_clock.h"

static const char *begin(struct capture *c) {
  const char *wrong = check_capture(c);
  if (!wrong) move_gpu_times(set_event_times(c, stub_cuda_now()));
  return wrong;
}

static void play(const struct capture *c, const struct cap_event *e) {
  switch (e->type) {
  case EV_CALLBACK: play_callback(c, e); return;
  case EV_RESOURCE: play_resource(c, e); return;
  case EV_NVTX: play_nvtx(c, e); return;
  case EV_BUFFER: play_buffer(c, e); return;
  case EV_ANSWER: play_answer(e); return;
  case EV_CUBIN: play_cubin(e); return;
  case EV_SAMPLES: play_samples(c, e); return;
  case EV_COUNTERS: play_counters(e); return;
  case EV_LINES: play_lines(e); return;
  }
}

const char *stub_replay(const char *path, const struct hp_api *api, void (*control)(const char *, const char *)) {
  static const struct player_vendor cupti = {begin, play, forget_answers};
  return player_play(path, &cupti, api, control);
}
