// Names of activities, interned. Those of kernels are mangled: a profile's readers demangle them.
#include "room.h"

#include <string.h>

static uint32_t intern(const char *text) { return room_hp->intern(text, strlen(text)); }

uint32_t room_kernel_name(const char *name) {
  if (!name || !*name) return intern("<unknown kernel>");
  size_t length = strlen(name);
  if (length > 3 && !strcmp(name + length - 3, ".kd")) length -= 3;
  return room_hp->intern(name, length);
}

uint32_t room_copy_name(enum room_copy direction) {
  static const char *const known[] = {
      [ROOM_COPY] = "<memcpy>", [ROOM_HTOH] = "<memcpy HtoH>", [ROOM_HTOD] = "<memcpy HtoD>", [ROOM_DTOH] = "<memcpy DtoH>", [ROOM_DTOD] = "<memcpy DtoD>"};
  return intern(known[direction <= ROOM_DTOD ? direction : ROOM_COPY]);
}

uint32_t room_fill_name(void) { return intern("<memset>"); }

uint32_t room_wait_name(const struct hip_call *call) {
  return intern(strstr(call->name, "Stream") ? "<sync stream>" : strstr(call->name, "Event") ? "<sync event>" : "<sync context>");
}
