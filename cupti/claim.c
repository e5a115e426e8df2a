// One process of ours samples a GPU at a time; see sampling.c for what CUPTI does otherwise. A claim is a name in Linux's
// abstract namespace of sockets: that needs no rights and no file, and goes with the process.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sampling.h"

static int name_of(int device, struct sockaddr_un *name, socklen_t *size) {
  int domain, bus, slot;
  if (cuda.cuDeviceGetAttribute(&domain, DEV_PCI_DOMAIN, device) || cuda.cuDeviceGetAttribute(&bus, DEV_PCI_BUS, device)) return 0;
  if (cuda.cuDeviceGetAttribute(&slot, DEV_PCI_DEVICE, device)) return 0;
  *name = (struct sockaddr_un){.sun_family = AF_UNIX};
  int n = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "goproton samples %x:%x:%x", (unsigned)domain, (unsigned)bus, (unsigned)slot);
  *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
  return 1;
}

int claim_gpu(int device) {
  struct sockaddr_un name;
  socklen_t size;
  int fd = name_of(device, &name, &size) ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
  if (fd < 0) return 0;
  if (!bind(fd, (void *)&name, size)) return fd;
  int taken = errno == EADDRINUSE;
  close(fd);
  return taken ? -1 : 0;
}

void claim_back(int claim) {
  if (claim > 0) close(claim);
}
