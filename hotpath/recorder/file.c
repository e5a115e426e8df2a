#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// The buffer is ours and not stdio's: a forked child that exits would flush stdio's a second time.
enum { BUFFER = 1 << 20 };

struct entry { uint64_t hash, value; char *text; size_t length; };

struct table {
  struct entry *entries;
  size_t used, capacity; // a power of two
};

static struct {
  pthread_mutex_t lock; // guards everything below
  int fd;               // -1 = no recording
  struct stat is;       // of the file: the program may close our descriptor, and give its number to a file of its own
  char path[PATH_MAX];
  int error;
  size_t filled;
  uint64_t events;
  uint64_t time; // of the last EV_TIME
  struct table strings, seen;
  uint64_t string_count;
  uint8_t buffer[BUFFER];
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static atomic_int on;
static atomic_uint threads;
static _Thread_local unsigned thread_number; // 0 = not yet numbered

int record_on(void) { return atomic_load_explicit(&on, memory_order_acquire); }

static unsigned this_thread(void) {
  if (!thread_number) thread_number = atomic_fetch_add(&threads, 1) + 1;
  return thread_number;
}

// ---- the file, lock held -----------------------------------------------------------------------------

static int ours(void) {
  struct stat now;
  return !fstat(file.fd, &now) && now.st_dev == file.is.st_dev && now.st_ino == file.is.st_ino;
}

// Returns a high descriptor: a program that closes its standard input, and opens another file, expects that to be 0.
static int open_high(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC, 0666), high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 200);
  if (high < 0) return fd;
  close(fd);
  return high;
}

// Makes sure that the descriptor leads to the file, by opening it again if need be.
static void reopen(void) {
  if (ours() || file.error) return;
  int before = file.fd, fd = open_high(file.path, O_WRONLY | O_APPEND);
  if (fd < 0) {
    file.error = errno;
    return;
  }
  file.fd = fd;
  if (ours()) return;
  close(fd);
  file.fd = before, file.error = ENOENT; // another file has the name now
}

static void drain(void) {
  size_t done = 0;
  reopen();
  while (done < file.filled && !file.error) {
    ssize_t n = write(file.fd, file.buffer + done, file.filled - done);
    if (n > 0) done += (size_t)n;
    else if (n < 0 && errno != EINTR) file.error = errno;
  }
  file.filled = 0;
}

static void put(const void *bytes, size_t length) {
  const uint8_t *from = bytes;
  while (length) {
    size_t n = BUFFER - file.filled;
    if (n > length) n = length;
    memcpy(file.buffer + file.filled, from, n);
    file.filled += n, from += n, length -= n;
    if (file.filled == BUFFER) drain();
  }
}

static size_t encode(uint8_t out[10], uint64_t value) {
  size_t n = 0;
  while (value >= 0x80) out[n++] = (uint8_t)value | 0x80, value >>= 7;
  out[n++] = (uint8_t)value;
  return n;
}

static void put_event_of(uint64_t thread, enum capture_event type, const void *payload, size_t length) {
  uint8_t head[21] = {(uint8_t)type};
  size_t n = 1;
  n += encode(head + n, thread);
  n += encode(head + n, length);
  put(head, n);
  put(payload, length);
  file.events++;
}

static void put_event(enum capture_event type, const void *payload, size_t length) { put_event_of(this_thread(), type, payload, length); }

// Says when the next event happened. Times never go back, whatever the system's clock does.
static void put_time(void) {
  uint8_t payload[10];
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  if (now <= file.time) return;
  put_event(EV_TIME, payload, encode(payload, now - file.time));
  file.time = now;
}

// ---- events ------------------------------------------------------------------------------------------

static uint8_t *reserve(struct event *e, size_t more) {
  if (e->length + more > e->capacity) {
    size_t capacity = (e->length + more) * 2 + 64;
    uint8_t *bytes = realloc(e->bytes, capacity);
    if (!bytes) return NULL; // the event comes out short; a reader notices that and says so
    e->bytes = bytes, e->capacity = capacity;
  }
  return e->bytes + e->length;
}

void event_number(struct event *e, uint64_t value) {
  uint8_t *at = reserve(e, 10);
  if (at) e->length += encode(at, value);
}

void event_bytes(struct event *e, const void *bytes, size_t length) {
  uint8_t *at = length ? reserve(e, length) : NULL;
  if (at) memcpy(at, bytes, length), e->length += length;
}

void event_write(struct event *e, enum capture_event type) {
  if (record_on()) {
    pthread_mutex_lock(&file.lock);
    if (file.fd >= 0) put_time(), put_event(type, e->bytes, e->length);
    pthread_mutex_unlock(&file.lock);
  }
  free(e->bytes);
  *e = (struct event){0};
}

// ---- tables, lock held -------------------------------------------------------------------------------

static uint64_t hash_of(const void *bytes, size_t length) { // FNV-1a
  const uint8_t *p = bytes;
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < length; i++) h = (h ^ p[i]) * 1099511628211u;
  return h ? h : 1;
}

static int grow(struct table *t) {
  if ((t->used + 1) * 2 <= t->capacity) return 1;
  size_t capacity = t->capacity ? t->capacity * 2 : 1024;
  struct entry *entries = calloc(capacity, sizeof *entries);
  if (!entries) return 0;
  for (size_t i = 0; i < t->capacity; i++) {
    if (!t->entries[i].hash) continue;
    size_t at = t->entries[i].hash & (capacity - 1);
    while (entries[at].hash) at = (at + 1) & (capacity - 1);
    entries[at] = t->entries[i];
  }
  free(t->entries);
  t->entries = entries, t->capacity = capacity;
  return 1;
}

// The entry of a key, made when missing; NULL when out of memory.
static struct entry *lookup(struct table *t, uint64_t hash, const char *text, size_t length) {
  if (!grow(t)) return NULL;
  size_t at = hash & (t->capacity - 1);
  for (; t->entries[at].hash; at = (at + 1) & (t->capacity - 1)) {
    struct entry *e = &t->entries[at];
    if (e->hash == hash && e->length == length && !memcmp(e->text ? e->text : "", text, length)) return e;
  }
  char *copy = length ? malloc(length) : NULL;
  if (length && !copy) return NULL;
  if (length) memcpy(copy, text, length);
  t->entries[at] = (struct entry){hash, 0, copy, length};
  t->used++;
  return &t->entries[at];
}

static void empty(struct table *t) {
  for (size_t i = 0; i < t->capacity; i++) free(t->entries[i].text);
  free(t->entries);
  *t = (struct table){0};
}

uint64_t record_string(const char *text, size_t length) {
  if (!text || !record_on()) return 0;
  uint64_t number = 0;
  pthread_mutex_lock(&file.lock);
  struct entry *e = file.fd >= 0 ? lookup(&file.strings, hash_of(text, length), text, length) : NULL;
  if (e && !e->value) {
    e->value = ++file.string_count;
    put_event(EV_STRING, text, length);
  }
  if (e) number = e->value;
  pthread_mutex_unlock(&file.lock);
  return number;
}

uint64_t record_cstring(const char *text) { return text ? record_string(text, strlen(text)) : 0; }

int record_is_new(uint64_t key, uint64_t value) {
  pthread_mutex_lock(&file.lock);
  size_t before = file.seen.used;
  uint64_t hash = hash_of(&key, sizeof key);
  struct entry *e = lookup(&file.seen, hash, (const char *)&key, sizeof key);
  int fresh = !e || file.seen.used != before || e->value != value;
  if (e) e->value = value;
  pthread_mutex_unlock(&file.lock);
  return fresh;
}

// ---- open and close ----------------------------------------------------------------------------------

static void after_fork(void) { // the file belongs to the parent
  atomic_store(&on, 0);
  pthread_mutex_init(&file.lock, NULL);
  if (file.fd >= 0 && ours()) close(file.fd);
  file.fd = -1;
  file.filled = 0;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

int record_open(const char *path, const char *writer) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (strlen(path) >= sizeof file.path) return ENAMETOOLONG;
  int fd = open_high(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (fd < 0) return errno;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&file.lock);
  if (file.fd >= 0 && ours()) close(file.fd);
  strcpy(file.path, path);
  if (fstat(fd, &file.is)) file.is = (struct stat){0};
  file.fd = fd, file.error = 0, file.filled = 0, file.events = 0, file.time = 0, file.string_count = 0;
  put(CAPTURE_MAGIC, CAPTURE_MAGIC_SIZE);
  put_event_of(0, EV_WRITER, writer, strlen(writer)); // threads have numbers in the order of the program's events
  pthread_mutex_unlock(&file.lock);
  atomic_store_explicit(&on, 1, memory_order_release);
  return 0;
}

int record_close(void) {
  if (!record_on()) return 0;
  pthread_mutex_lock(&file.lock);
  uint8_t payload[10];
  put_event(EV_END, payload, encode(payload, file.events));
  drain();
  if (ours() && close(file.fd) && !file.error) file.error = errno;
  file.fd = -1;
  int error = file.error;
  empty(&file.strings);
  empty(&file.seen);
  pthread_mutex_unlock(&file.lock);
  atomic_store(&on, 0);
  return error;
}
