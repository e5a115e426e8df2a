// Tests what becomes of samples: records of any content, reasons, sums, places that are too many, silence. It is compiled under the address
// sanitizer.
#include "../sdk_samples.c"
#include <stdio.h>

static int failed;
int sdk_usable(void) { return 1; }

static void expect(const char *what, long long got, long long want) {
  if (got == want) return;
  printf("%s: %lld, want %lld\n", what, got, want);
  failed = 1;
}

static uint64_t random_state = 88172645463325252u;
static uint64_t any(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return random_state;
}

static void deliver_sample(const void *payload, uint32_t category, uint32_t kind, uint64_t drops) {
  static uint64_t before;
  struct sdk_header h = {category, kind, payload};
  const struct sdk_header *list[] = {&h, NULL};
  sdk_take_samples(1, 2, list, 2, &before, drops);
}

static struct sdk_sampling_facts sample_facts(void) {
  struct sdk_sampling_facts f = {0};
  sdk_samples_facts(&f);
  return f;
}

static void forget(struct sdk_taken t) { free(t.dispatches), free(t.counts); }

static void hostile_samples(void) {
  for (int i = 0; i < 20000; i++) {
    size_t n = 8 + any() % 128 / 8 * 8;
    uint64_t *r = malloc(n);
    for (size_t at = 1; at < n / 8; at++) r[at] = any() % 4 ? any() : any() % 3;
    r[0] = n;
    deliver_sample(r, (uint32_t)(any() % 4), (uint32_t)(any() % 5), 0);
    free(r);
  }
  deliver_sample(NULL, SDK_SAMPLES, SDK_SAMPLED, 0);
  struct sdk_sampling_facts f = sample_facts();
  expect("records of any content are counted", (long long)f.samples, 20001);
  expect("some of them have no place", f.invalid > 0 && f.invalid < f.samples, 1);
  forget(sdk_samples_take());
}

// Each reason of a stochastic sample, issued or not, by the host trap, and the sums over equal ones.
static void counted_samples(void) {
  uint32_t got[2][16] = {0};
  struct sdk_trapped t = {.size = sizeof t, .code = 1, .offset = 0x100, .dispatch = 5};
  for (int turn = 0; turn < 3; turn++)
    for (uint32_t reason = 0; reason < 16; reason++)
      for (uint8_t issued = 0; issued < 2; issued++) {
        struct sdk_sampled s = {.size = sizeof s, .code = 1, .offset = issued, .dispatch = 5, .issue = (uint8_t)(issued | 30), .snapshot = reason | 0xfffffff0u};
        deliver_sample(&s, SDK_SAMPLES, SDK_SAMPLED, 0);
      }
  deliver_sample(&t, SDK_SAMPLES, SDK_TRAPPED, 4);
  deliver_sample(&t, SDK_SAMPLES, SDK_TRAPPED, 9);
  expect("dropped samples", (long long)sample_facts().dropped, 9);
  struct sdk_taken taken = sdk_samples_take();
  for (size_t i = 0; i < taken.size; i++) {
    struct sdk_count *c = &taken.counts[i];
    if (c->samples && c->offset == 0x100) expect("samples by the host trap", c->samples == 2 && c->reason == SDK_REASONS, 1);
    else if (c->samples) got[c->offset][c->reason] += c->samples;
  }
  for (uint32_t reason = 1; reason < SDK_REASONS; reason++) expect("samples of a reason", got[0][reason], reason == 8 ? 3 * (1 + 1 + 6) : 3);
  expect("samples of issued instructions", got[1][0], 48);
  forget(taken);
  expect("nothing is left", (long long)sdk_samples_take().size, 0);
}

// More places than the table holds are counted as lost, and those that it holds stay right.
static void many_places(void) {
  uint64_t before = sample_facts().samples, held = 0;
  for (uint64_t i = 0; i < MOST; i++) {
    struct sdk_trapped t = {.size = sizeof t, .code = 1, .offset = 4 * i, .dispatch = i % 7};
    deliver_sample(&t, SDK_SAMPLES, SDK_TRAPPED, 9);
  }
  struct sdk_sampling_facts f = sample_facts();
  struct sdk_taken taken = sdk_samples_take();
  for (size_t i = 0; i < taken.size; i++) held += taken.counts[i].samples;
  expect("samples are held or lost", (long long)(held + f.lost), (long long)(f.samples - before));
  expect("some are lost", f.lost > 0 && f.lost < MOST / 3, 1);
  forget(taken);
}

static void silence(void) {
  struct sdk_trapped t = {.size = sizeof t};
  sdk_dispatch_seen(1, 2, 600000000);
  sdk_samples_watch();
  expect("a short silence", (long long)sample_facts().silent, 0);
  deliver_sample(&t, SDK_SAMPLES, SDK_TRAPPED, 9);
  sdk_dispatch_seen(2, 3, 600000000);
  sdk_samples_watch();
  expect("another one", (long long)sample_facts().silent, 0);
  sdk_dispatch_seen(3, SDK_UNHEARD, 600000000);
  sdk_samples_watch();
  expect("a long silence", (long long)sample_facts().silent, 1200000000);
  struct sdk_taken taken = sdk_samples_take();
  expect("dispatches", (long long)taken.dispatch_count, 3);
  expect("the correlation of one", (long long)taken.dispatches[1].correlation, 3);
  forget(taken);
}

int main(void) {
  hostile_samples();
  counted_samples();
  many_places();
  silence();
  return failed;
}
