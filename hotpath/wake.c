#define _GNU_SOURCE
#include "wake.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint32_t drainer; // 0 awake, 1 asleep, 2 kicked

void hp_kick(void) {
  if (atomic_exchange_explicit(&drainer, 2, memory_order_acq_rel) == 1)
    syscall(SYS_futex, &drainer, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void hp_wait(unsigned milliseconds) {
  uint32_t awake = 0;
  if (atomic_compare_exchange_strong(&drainer, &awake, 1)) {
    struct timespec limit = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    syscall(SYS_futex, &drainer, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0);
  }
  atomic_store(&drainer, 0);
}
