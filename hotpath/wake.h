// The application's threads wake the drainer, without a lock.
#ifndef GOPROTON_WAKE_H
#define GOPROTON_WAKE_H

// hp_kick wakes the drainer if it sleeps; a system call only when it does.
void hp_kick(void);
// hp_wait sleeps until kicked or for the given time. One waiter.
void hp_wait(unsigned milliseconds);

#endif
