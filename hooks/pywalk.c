// A walk has three steps: 1 collect (frame, code, instruction) from the leaf to the root; 2 compare with this thread's previous
// stack from the root, and keep the call path of the part that is unchanged; 3 name the rest.
//
// It takes no reference, needs no GIL, and allocates nothing except one mmap per thread: a thread's frames change only while it
// runs Python code, and now it runs this code. Objects of an earlier walk may have been freed: their addresses are compared and
// not dereferenced.
#define _GNU_SOURCE
#include "pywalk.h"
#include <pthread.h>
#include <sys/mman.h>

struct frame { const char *at, *code; uint64_t instr; };
struct seen { struct frame frame; uint64_t print; uint64_t node; };
struct named { const char *code; uint64_t instr, print; uint32_t name, known; };
struct stepped { uint32_t parent, name, node, known; };

enum { NAMES = 2048, STEPS = 1024 };

struct thread {
  uint32_t generation;
  int depth, truncated;         // of the previous stack
  struct seen was[FRAMES_MAX];  // root first
  struct frame now[FRAMES_MAX]; // leaf first
  struct named names[NAMES];
  struct stepped steps[STEPS];
  struct thread *next;
  _Atomic int taken, walking;
};

// ---- the state of a thread ----

static _Atomic(struct thread *) threads;
static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void thread_exits(void *p) {
  self = NULL;
  atomic_store_explicit(&((struct thread *)p)->taken, 0, memory_order_release);
}

static void make_exit_key(void) { pthread_key_create(&exit_key, thread_exits); }

static struct thread *recycled(void) {
  for (struct thread *t = atomic_load(&threads); t; t = t->next) {
    int no = 0;
    if (atomic_compare_exchange_strong(&t->taken, &no, 1)) return t->depth = 0, t;
  }
  return NULL;
}

static struct thread *attach(void) {
  pthread_once(&exit_once, make_exit_key);
  struct thread *t = recycled();
  if (!t) {
    t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t == MAP_FAILED) return NULL;
    atomic_store(&t->taken, 1);
    t->next = atomic_load(&threads);
    while (!atomic_compare_exchange_weak(&threads, &t->next, t)) {
    }
  }
  pthread_setspecific(exit_key, t);
  return self = t;
}

// ---- 1 collect ----

static const char *current_frame(const void *thread_state) {
  const char *p = pointer_at(thread_state, py_at.current);
  return py_at.has_cframe && p ? pointer_at(p, py_at.in_cframe) : p;
}

static int collect_frame_objects(struct frame *now, const char *frame) { // 3.9, 3.10
  int n = 0;
  for (; frame && n < FRAMES_MAX; frame = pointer_at(frame, py_at.previous), n++)
    now[n] = (struct frame){frame, pointer_at(frame, py_at.code), (uint64_t)int_at(frame, py_at.instr)};
  return n + (frame != NULL);
}

static inline int collect_at(struct frame *now, const char *frame, size_t code, size_t previous, size_t instr, size_t owner) {
  int n = 0, shim = py_at.shim;
  for (; frame && n < FRAMES_MAX; frame = pointer_at(frame, previous)) {
    if (__builtin_expect((uint8_t)frame[owner] >= shim, 0)) continue;
    // 3.14 has tags in the lowest bits of references.
    now[n++] = (struct frame){frame, (const char *)(uintptr_t)(word_at(frame, code) & ~(uint64_t)7), word_at(frame, instr)};
  }
  return n + (frame != NULL);
}

// collect returns the number of frames, FRAMES_MAX + 1 if there are more than it stored.
static int collect(struct frame *now, const char *frame) {
  const struct layout *at = &py_at;
  if (at->lasti_scale) return collect_frame_objects(now, frame);
  if (at->code == 0 && at->previous == 8 && at->instr == 56) return collect_at(now, frame, 0, 8, 56, at->owner); // 3.12 to 3.14
  return collect_at(now, frame, at->code, at->previous, at->instr, at->owner);
}

// ---- 2 compare ----

// fingerprint distinguishes a code object from an earlier one at the same address (exec in a loop, torch.compile).
// It is computed from contents, because the strings of a new object reuse old addresses too: the hash of the name, the
// length, hash, middle and end of the file name, and the size and both ends of the line table.
//
// From 3.12 on code objects have numbers, which are quicker to compare: 22 frames in 65 instead of 120 ns.
struct file { const char *at; uint64_t print; }; // frames next to each other often share a file

static inline uint64_t file_print(const char *file) {
  unsigned state = str_state(file);
  uint64_t length = word_at(file, STR_LENGTH), h = (word_at(file, STR_HASH) ^ length) * 0x9E3779B97F4A7C15u;
  if (!(state & STATE_COMPACT)) return h;
  // The last 16 bytes and 8 from the middle; of a short text, bytes of the object's head before it as well.
  uint64_t bytes = length * (state & STATE_KIND), end = (state & STATE_ASCII ? py_at.ascii_data : py_at.compact_data) + bytes;
  return h ^ (word_at(file, end - 8) ^ word_at(file, end - 16) << 9) * 0xD6E8FEB86659FD93u ^ word_at(file, end - 8 - bytes / 2) * 0x2545F4914F6CDD1Du;
}

static inline uint64_t fingerprint(const char *code, struct file *last) {
  if (py_at.version) {
    uint32_t version = (uint32_t)int_at(code, py_at.version);
    if (__builtin_expect(version != 0, 1)) return version; // 0: the numbers have run out
  }
  const char *name = pointer_at(code, py_at.name), *file = pointer_at(code, py_at.file), *table = pointer_at(code, py_at.table);
  if (file != last->at) *last = (struct file){file, file_print(file)};
  uint64_t size = word_at(table, VAR_SIZE), h = last->print + word_at(name, STR_HASH);
  h = (h ^ h >> 29) + ((uint64_t)(uint32_t)int_at(code, py_at.line) << 32 ^ size) * 0xC2B2AE3D27D4EB4Fu;
  if (size >= 8) h ^= (word_at(table, BYTES_DATA) + (word_at(table, BYTES_DATA + size - 8) << 7)) * 0xBF58476D1CE4E5B9u;
  return h;
}

static inline int unchanged(const struct seen *was, const struct frame *now, struct file *last) {
  return was->frame.at == now->at && was->frame.code == now->code && was->frame.instr == now->instr && was->print == fingerprint(now->code, last);
}

// ---- 3 name ----

static int line_of(const char *code, uint64_t instr) {
  int64_t offset = py_at.lasti_scale ? (int64_t)(int)instr * py_at.lasti_scale : (int64_t)(instr - (uint64_t)(uintptr_t)(code + py_at.code_size));
  int line = py.PyCode_Addr2Line((PyObject *)code, offset < 0 ? -1 : (int)offset); // reads the line table, nothing else
  return line > 0 ? line : int_at(code, py_at.line);
}

static uint32_t make_name(const char *code, uint64_t instr) {
  char file[FRAME_TEXT], name[FRAME_TEXT], text[FRAME_TEXT];
  size_t file_len = layout_text((PyObject *)pointer_at(code, py_at.file), file, sizeof file);
  size_t name_len = layout_text((PyObject *)pointer_at(code, py_at.name), name, sizeof name);
  if (frame_hidden(file, file_len, name, name_len)) return 0;
  return hooks_hp->intern(text, frame_text(text, file, file_len, line_of(code, instr), name, name_len));
}

static uint32_t name_of(struct thread *t, const struct frame *f, uint64_t print) {
  uint64_t h = ((uint64_t)(uintptr_t)f->code >> 4) * 0x9E3779B97F4A7C15u ^ f->instr * 0xD6E8FEB86659FD93u;
  struct named *e = &t->names[h >> 40 & (NAMES - 1)];
  if (e->known && e->code == f->code && e->instr == f->instr && e->print == print) return e->name;
  *e = (struct named){f->code, f->instr, print, make_name(f->code, f->instr), 1};
  return e->name;
}

static uint32_t step(struct thread *t, uint32_t parent, uint32_t name) {
  if (!name) return parent; // hidden
  struct stepped *e = &t->steps[(parent * 0x9E3779B1u ^ name * 0x85EBCA6Bu) >> 9 & (STEPS - 1)];
  if (e->known && e->parent == parent && e->name == name) return e->node;
  uint32_t node = hooks_hp->child(parent, name, 0);
  if (!node) return parent; // the arena is full: the hot path counts the loss
  *e = (struct stepped){parent, name, node, 1};
  return node;
}

// ---- the walk ----

// The hot path forgets its call paths when a first session begins: the numbers of earlier nodes are invalid then.
static void forget(struct thread *t, uint32_t generation) {
  t->generation = generation;
  t->depth = 0;
  memset(t->steps, 0, sizeof t->steps);
}

static uint32_t walk(struct thread *t, const void *state) {
  uint32_t generation = hooks_hp->generation();
  if (__builtin_expect(t->generation != generation, 0)) forget(t, generation);

  int n = collect(t->now, current_frame(state)), truncated = n > FRAMES_MAX, same = 0;
  if (truncated) n = FRAMES_MAX;
  int both = truncated != t->truncated ? 0 : n < t->depth ? n : t->depth;
  struct file last = {0};
  while (same < both && unchanged(&t->was[same], &t->now[n - 1 - same], &last)) same++;

  uint32_t node = same ? (uint32_t)t->was[same - 1].node : truncated ? step(t, 0, frames_truncated()) : 0;
  for (int i = same; i < n; i++) {
    const struct frame *f = &t->now[n - 1 - i];
    uint64_t print = fingerprint(f->code, &last);
    node = step(t, node, name_of(t, f, print));
    t->was[i] = (struct seen){*f, print, node};
  }
  t->depth = n;
  t->truncated = truncated;
  return node;
}

uint32_t pywalk(void) {
  struct thread *t = self;
  if (__builtin_expect(!t, 0) && !(t = attach())) return 0;
  atomic_store(&t->walking, 1); // before frames_gone, see frames_last_thread
  const void *state = py.PyGILState_GetThisThreadState();
  uint32_t node = __builtin_expect(frames_gone(state), 0) ? 0 : walk(t, state);
  atomic_store_explicit(&t->walking, 0, memory_order_release);
  return node;
}

int pywalks(void) {
  int n = 0;
  for (struct thread *t = atomic_load(&threads); t; t = t->next) n += t != self && atomic_load(&t->walking);
  return n;
}

int pywalk_stack(uint32_t *names, int room) {
  static struct frame now[FRAMES_MAX]; // for the self-check, under the GIL
  const void *state = py.PyGILState_GetThisThreadState();
  int n = state ? collect(now, current_frame(state)) : 0;
  for (int i = 0; i < n && i < room && i < FRAMES_MAX; i++) names[i] = make_name(now[i].code, now[i].instr);
  return n;
}
