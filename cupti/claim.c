// Of the processes that GoProton profiles, one samples a GPU at a time; sampling_thread.c says why. A claim is a name in
// Linux's abstract namespace of sockets: it needs neither rights nor a file, and ends with the process.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

// above_standard moves a file to a number above 2: a program may close a standard file and expect the next one that it opens
// to get its number.
static int above_standard(int fd) {
  enum { FIRST = 3 };
  if (fd < 0 || fd >= FIRST) return fd;
  int other = fcntl(fd, F_DUPFD_CLOEXEC, FIRST);
  close(fd);
  return other;
}

int claim_gpu(int device, struct claim *claim) {
  struct sockaddr_un name;
  struct stat is;
  socklen_t size;
  *claim = (struct claim){0};
  int fd = name_of(device, &name, &size) ? above_standard(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) : -1;
  if (fd < 0) return 1;
  int refused = bind(fd, (void *)&name, size) ? errno : 0;
  if (!refused && !fstat(fd, &is)) return *claim = (struct claim){fd, is.st_ino}, 1;
  close(fd);
  return refused != EADDRINUSE;
}

// A program that closes all its files, as daemons do, has closed this one too, and the number may belong to another file.
void claim_release(struct claim *claim) {
  struct stat is;
  if (claim->fd && !fstat(claim->fd, &is) && S_ISSOCK(is.st_mode) && is.st_ino == claim->inode) close(claim->fd);
  *claim = (struct claim){0};
}
