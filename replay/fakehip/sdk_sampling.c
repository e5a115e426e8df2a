// Sampling of instructions, a part of sdk.c. REASON of an order "samples" is 0 for an instruction that was issued, up to 15 the reason why one was not,
// "error" for a sample without a place, "code" for one in code whose loading was not reported, "strange" for a record of an unknown kind, and
// "short" for one that ends too early. ADDRESS is the one in the ELF file.

#ifdef STUB_LAYOUT_A
static void sample(const struct kernel *k, uint64_t dispatch, uint64_t agent) { (void)k, (void)dispatch, (void)agent; }
static void say_samples(uint64_t agent, const struct capture_sample *s, uint64_t times) { (void)agent, (void)s, (void)times; }
static void say_samples_end(uint64_t agent, uint64_t drops) { (void)agent, (void)drops; }
#else
struct way { uint64_t size; uint32_t method, unit; uint64_t least, most, flags; };
static struct { uint64_t context, buffer, agent; uint32_t method; } sampled[64];
static int sampled_count;

static const struct way *offered(const char *method) {
  static const struct way stochastic = {40, 1, 2, 1 << 16, 1 << 20, 1}, host_trap = {40, 2, 3, 1, 1 << 20, 0};
  const struct way *w = !strcmp(method, "stochastic") ? &stochastic : &host_trap;
  return stub_named(stub_order("sampling"), method) ? w : NULL;
}

static int allowed(void) {
  const char *beta = getenv("ROCPROFILER_PC_SAMPLING_BETA_ENABLED");
  return beta && !strcmp(beta, "1");
}

// In a replay a GPU offers what was recorded, and nothing else.
static int recorded_way(uint64_t agent, struct stub_way *out) {
  void *hip = dlopen("libamdhip64.so.6", RTLD_LAZY | RTLD_NOLOAD);
  int (*find)(uint64_t, struct stub_way *) = NULL;
  if (hip) *(void **)&find = dlsym(hip, "stub_way_of");
  return find && find(agent, out);
}

static int recorded_ways(uint64_t agent, int (*cb)(const struct way *, size_t, void *), void *data) {
  struct stub_way w;
  if (!recorded_way(agent, &w)) return cb(NULL, 0, data);
  if (!w.method) return (int)w.status;
  struct way way = {sizeof way, (uint32_t)w.method, (uint32_t)w.unit, w.interval, w.interval, 0};
  return cb(&way, 1, data);
}

API rocprofiler_query_pc_sampling_agent_configurations(uint64_t agent, int (*cb)(const struct way *, size_t, void *), void *data) {
  static const char *const names[] = {"host_trap", "stochastic"};
  struct way ways[2];
  size_t n = 0;
  ENTRY(query_pc_sampling_agent_configurations);
  if (!allowed()) return code(UNIMPLEMENTED);
  if (replaying()) return recorded_ways(agent, cb, data);
  if (agent <= 7000 || agent > 7000 + stub_number("PROTON_STUB_DEVICES", 1)) return code(ARGUMENT);
  char gpu[8];
  snprintf(gpu, sizeof gpu, "%d", (int)(agent - 7001));
  for (int i = 0; i < 2; i++)
    if (offered(names[i]) && !stub_named(stub_order("unsampled"), gpu)) ways[n++] = *offered(names[i]);
  return cb(ways, n, data);
}

API rocprofiler_configure_pc_sampling_service(uint64_t context, uint64_t agent, uint32_t method, uint32_t unit, uint64_t interval, uint64_t buffer, int flags) {
  ENTRY(configure_pc_sampling_service);
  ONLY_INITIALISING;
  const struct way *w = method == 1 ? offered("stochastic") : method == 2 ? offered("host_trap") : NULL;
  if (!allowed()) return code(UNIMPLEMENTED);
  if (!context_at(context)) return NO_CONTEXT;
  if (!buffer_at(buffer) || buffer_at(buffer)->context != context) return NO_BUFFER;
  if (replaying()) {
    struct stub_way recorded;
    if (!recorded_way(agent, &recorded)) return code(ARGUMENT);
    if (recorded.status) return (int)recorded.status;
  } else if (!w || w->unit != unit || interval < w->least || interval > w->most || (w->flags && interval & (interval - 1)) || flags) {
    return code(ARGUMENT);
  }
  for (int i = 0; i < sampled_count; i++)
    if (sampled[i].agent == agent || sampled[i].context != context) return code(CONFIGURED); // one for each GPU, in one context
  sampled[sampled_count].context = context, sampled[sampled_count].buffer = buffer, sampled[sampled_count].agent = agent;
  sampled[sampled_count++].method = method;
  return OK;
}

// One sample of an order "samples".
static void take_sample(int at, const struct kernel *k, uint64_t dispatch, uint64_t address, const char *reason) {
  uint8_t r[112] = {0};
  struct header header = {2, sampled[at].method == 1 ? 3 : 2, NULL};
  size_t size = header.kind == 3 ? 104 : 88;
  int stochastic = header.kind == 3, shift = stochastic ? 8 : 0;
  unsigned long number = strtoul(reason, NULL, 10);
  if (!strncmp(reason, "error", 5)) header.kind = 1, size = 8;
  if (!strncmp(reason, "strange", 7)) header.kind = 9;
  if (!strncmp(reason, "short", 5)) size -= 8;
  if (stub_order("long")) size += 8;
  put64(r, 0, size), put64(r, 16 + shift, k->module), put64(r, 24 + shift, address - LOAD_SHIFT);
  if (!strncmp(reason, "code", 4)) put64(r, 16 + shift, 0);
  if (stochastic) {
    r[10] = number ? 15 << 1 : 3;
    put64(r, 72, dispatch), put64(r, 80, 77), put32(r, 96, number | 0xabcdef0u); // what is not the reason is not zero
  } else {
    put64(r, 48, dispatch), put64(r, 56, 77);
  }
  add(sampled[at].buffer, header, r, size);
}

static void sample(const struct kernel *k, uint64_t dispatch, uint64_t agent) {
  int at = 0;
  while (at < sampled_count && sampled[at].agent != agent) at++;
  if (at == sampled_count || !context_at(sampled[at].context)->started) return;
  const char *word = stub_order("samples");
  for (int ours = 0; word && *word && !strchr("\n;", *word); word += strcspn(word, " \n;"), word += strspn(word, " ")) {
    char *end;
    size_t length = strcspn(word, " \n;");
    const char *colon = memchr(word, ':', length);
    if (!colon) ours = length == strlen(k->name) && !strncmp(word, k->name, length);
    if (!colon || !ours) continue;
    uint64_t address = strtoull(word, &end, 0);
    const char *times = strchr(end + 1, ':');
    for (unsigned long n = strtoul(times + 1, NULL, 10); n; n--) take_sample(at, k, dispatch, address, end + 1);
  }
  if (stub_order("eager")) hand_over(buffer_at(sampled[at].buffer));
}

// ---- replays ----

static int sampled_at(uint64_t agent) {
  int at = 0;
  while (at < sampled_count && sampled[at].agent != agent) at++;
  return at < sampled_count && context_at(sampled[at].context)->started ? at : -1;
}

static void say_samples(uint64_t agent, const struct capture_sample *s, uint64_t times) {
  uint8_t r[112] = {0};
  int at = sampled_at(agent), shift = s->kind == 3 ? 8 : 0;
  if (at < 0) return;
  put64(r, 0, s->size), put64(r, 16 + shift, s->code), put64(r, 24 + shift, s->offset);
  if (s->kind == 3) r[10] = (uint8_t)s->issue, put64(r, 72, s->dispatch), put64(r, 80, s->internal), put32(r, 96, s->reason);
  else put64(r, 48, s->dispatch), put64(r, 56, s->internal);
  for (; times; times--) add(sampled[at].buffer, (struct header){(uint32_t)s->category, (uint32_t)s->kind, NULL}, r, sizeof r);
}

static void say_samples_end(uint64_t agent, uint64_t drops) {
  int at = sampled_at(agent);
  if (at < 0) return;
  buffer_at(sampled[at].buffer)->drops = drops;
  hand_over(buffer_at(sampled[at].buffer));
}
#endif
