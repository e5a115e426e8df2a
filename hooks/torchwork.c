// The work of torch's operators. Flops follow torch.utils.flop_counter: two for each multiplication of a matrix product, and what is
// not a matrix product has none. Bytes are those that the operator has to read and write at least once each.
#include "torchwork.h"
#include <string.h>

// ---- arguments ----

struct arguments {
  struct torch_values of;
  int gpu, opaque; // gpu: some tensor that was read lies on one; opaque: some tensor has no known size
};

static int tensor(struct arguments *a, const struct torch_value *v, struct tensor *out) {
  int status = torch_tensor(v, out);
  a->opaque |= status < 0;
  a->gpu |= status > 0 && out->gpu;
  return status > 0;
}

static int tensor_at(struct arguments *a, size_t i, struct tensor *out) { return i < a->of.n && tensor(a, &a->of.at[i], out); }

static int64_t product(const int64_t *sizes, int from, int to) {
  int64_t n = 1;
  for (int d = from; d < to; d++) n *= sizes[d];
  return n;
}

static int64_t elements(const struct tensor *t) { return product(t->sizes, 0, t->dims); }

// stored counts the elements in memory: a dimension that is expanded has one.
static int64_t stored(const struct tensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->dims; d++) n *= t->strides[d] || !t->sizes[d] ? t->sizes[d] : 1;
  return n;
}

static int64_t size_of(const struct tensor *t) { return stored(t) * t->bytes; }
static int64_t size_at(struct arguments *a, size_t i) {
  struct tensor t;
  return tensor_at(a, i, &t) ? size_of(&t) : 0;
}

static int64_t integer_at(struct arguments *a, size_t i, int64_t otherwise) {
  int64_t n;
  return i < a->of.n && torch_integer(&a->of.at[i], &n) ? n : otherwise;
}

// integer_in reads a list of numbers, of which one may stand for all dimensions.
static int64_t integer_in(struct arguments *a, size_t i, size_t element, int64_t otherwise) {
  struct torch_values list;
  int64_t n;
  if (i >= a->of.n || !torch_list(&a->of.at[i], &list) || !list.n) return otherwise;
  return torch_integer(&list.at[element < list.n ? element : 0], &n) ? n : otherwise;
}

// multiply adds the flops of products of elements like those of t.
static void multiply(struct work *w, const struct tensor *t, double products) {
  if (t->kind == ELEMENT_BOOL || (t->kind == ELEMENT_INTEGER && t->bytes > 1)) return; // no GPU has a peak of these
  int complex = t->kind == ELEMENT_COMPLEX;
  w->width = t->bytes * 8 / (complex ? 2 : 1);
  w->flops += 2 * products * (complex ? 4 : 1);
}

// ---- matrix products ----

// matrices: the operands are the arguments `first` and the next one; what is before them is added.
static int matrices(struct arguments *a, int first, struct work *w) {
  struct tensor x, y, added = {0};
  if (!tensor_at(a, (size_t)first, &x) || !tensor_at(a, (size_t)first + 1, &y) || !x.dims || !y.dims) return 0;
  int batched = x.dims == 3;
  int64_t k = x.sizes[x.dims - 1], m = x.dims > 1 ? x.sizes[x.dims - 2] : 1, n = y.dims > 1 ? y.sizes[y.dims - 1] : 1;
  int64_t batch = batched ? x.sizes[0] : 1, rows = y.dims > 1 ? y.sizes[y.dims - 2] : y.sizes[0];
  if (x.dims > 3 || y.dims > 3 || batched != (y.dims == 3) || k != rows || (batched && y.sizes[0] != batch)) return 0;
  int has_added = first > 0 && tensor_at(a, 0, &added);
  multiply(w, &x, (double)batch * (double)m * (double)n * (double)k);
  w->bytes = size_of(&x) + size_of(&y) + (has_added ? size_of(&added) : 0) + batch * m * n * (has_added ? added.bytes : x.bytes);
  return 1;
}

// small_matrices: operands of 8 bits. The result of integers has 32 bits; that of others has the dtype that _scaled_mm is given as its
// argument 6, in torch 2.4 as argument 3, or else that of the operands.
static int small_matrices(struct arguments *a, int first, struct work *w) {
  struct tensor x, y;
  if (!matrices(a, first, w) || !tensor_at(a, 0, &x) || !tensor_at(a, 1, &y)) return 0;
  int64_t dtype = integer_at(a, 6, integer_at(a, 3, -1)), bytes = x.kind == ELEMENT_INTEGER ? 4 : x.bytes;
  w->bytes += x.sizes[0] * y.sizes[1] * ((dtype < 0 ? bytes : torch_dtype_bytes(dtype)) - x.bytes);
  return 1;
}

// ---- convolutions ----

// convolve: every element of the weight meets every position of the result or, if transposed, of the input.
static void convolve(const struct tensor *x, const struct tensor *w, int64_t positions, struct work *out) {
  multiply(out, x, (double)x->sizes[0] * (double)positions * (double)elements(w));
}

enum { STRIDE = 3, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS }; // arguments of aten::convolution

static int64_t convolved_size(struct arguments *a, const struct tensor *x, const struct tensor *w, int d, int transposed) {
  size_t i = (size_t)d - 2;
  int64_t stride = integer_in(a, STRIDE, i, 1), padding = integer_in(a, PADDING, i, 0), dilation = integer_in(a, DILATION, i, 1);
  int64_t reach = dilation * (w->sizes[d] - 1) + 1;
  if (transposed) return (x->sizes[d] - 1) * stride - 2 * padding + reach + integer_in(a, OUTPUT_PADDING, i, 0);
  return stride > 0 ? (x->sizes[d] + 2 * padding - reach) / stride + 1 : 0;
}

static int convolution(struct arguments *a, int unused, struct work *out) {
  (void)unused;
  struct tensor x, w;
  if (!tensor_at(a, 0, &x) || !tensor_at(a, 1, &w) || x.dims != w.dims || x.dims < 3 || a->of.n <= GROUPS) return 0;
  int transposed = integer_at(a, TRANSPOSED, 0) != 0;
  int64_t channels = transposed ? w.sizes[1] * integer_at(a, GROUPS, 1) : w.sizes[0], positions = 1;
  for (int d = 2; d < x.dims; d++) positions *= convolved_size(a, &x, &w, d, transposed);
  out->bytes = size_of(&x) + size_of(&w) + size_at(a, 2) + x.sizes[0] * channels * positions * x.bytes;
  convolve(&x, &w, transposed ? product(x.sizes, 2, x.dims) : positions, out);
  return 1;
}

// Arguments: gradient, input, weight, sizes of the bias, stride, padding, dilation, transposed, output padding, groups, and which of
// the gradients of input, weight and bias are wanted.
static int convolution_backward(struct arguments *a, int unused, struct work *out) {
  (void)unused;
  enum { TRANSPOSED = 7, WANTED = 10 };
  struct tensor g, x, w;
  if (!tensor_at(a, 0, &g) || !tensor_at(a, 1, &x) || !tensor_at(a, 2, &w) || x.dims != w.dims || x.dims != g.dims || x.dims < 3 || a->of.n <= WANTED) return 0;
  const struct tensor *moved = integer_at(a, TRANSPOSED, 0) ? &x : &g;
  int of_x = integer_in(a, WANTED, 0, 0) != 0, of_w = integer_in(a, WANTED, 1, 0) != 0;
  out->bytes = size_of(&g);
  if (of_x) out->bytes += size_of(&w) + size_of(&x);
  if (of_w) out->bytes += size_of(&x) + size_of(&w);
  for (int i = 0; i < of_x + of_w; i++) convolve(&x, &w, product(moved->sizes, 2, moved->dims), out);
  return 1;
}

// ---- attention ----

// The flops are those of all pairs of a query and a key, as torch counts them: a causal mask or a window may skip some.
static int attend(struct arguments *a, size_t first, int scores, int values, int heads_behind, struct work *out) {
  struct tensor q, k, v;
  if (!tensor_at(a, first, &q) || !tensor_at(a, first + 1, &k) || !tensor_at(a, first + 2, &v)) return 0;
  if (q.dims != 4 || k.dims != 4 || v.dims != 4 || q.sizes[3] != k.sizes[3]) return 0;
  int s = heads_behind ? 1 : 2;
  double pairs = (double)q.sizes[0] * (double)q.sizes[3 - s] * (double)q.sizes[s] * (double)k.sizes[s];
  multiply(out, &q, pairs * ((double)scores * (double)q.sizes[3] + (double)values * (double)v.sizes[3]));
  out->estimated = 1;
  int64_t result = elements(&q) / (q.sizes[3] ? q.sizes[3] : 1) * v.sizes[3] * q.bytes;
  out->bytes = size_of(&q) + size_of(&k) + size_of(&v) + result;
  if (first) out->bytes += result + size_of(&q) + size_of(&k) + size_of(&v); // the gradient of the result is read, and three are written
  return 1;
}

// Backward passes compute the scores again, and the gradients of scores, queries, keys and values.
static int attention(struct arguments *a, int unused, struct work *out) { return (void)unused, attend(a, 0, 1, 1, 0, out); }
static int attention_backward(struct arguments *a, int unused, struct work *out) { return (void)unused, attend(a, 1, 3, 2, 0, out); }

// Here heads come behind positions. Sequences of several lengths have the places where they begin in an argument: their flops are unknown.
static int flash(struct arguments *a, int lengths, struct work *out) {
  struct tensor t;
  return !tensor_at(a, (size_t)lengths, &t) && attend(a, 0, 1, 1, 1, out);
}
static int flash_backward(struct arguments *a, int lengths, struct work *out) {
  struct tensor t;
  return !tensor_at(a, (size_t)lengths, &t) && attend(a, 1, 3, 2, 1, out);
}

// ---- recurrent networks of cuDNN: input, weights, …: each weight meets each element of each sequence ----

static int recurrent(struct arguments *a, int times, struct work *out) {
  struct tensor x, w;
  struct torch_values weights;
  if (!tensor_at(a, 0, &x) || x.dims < 2 || a->of.n < 2 || !torch_list(&a->of.at[1], &weights)) return 0;
  double rows = (double)product(x.sizes, 0, x.dims - 1);
  for (size_t i = 0; i < weights.n; i++) {
    if (!tensor(a, &weights.at[i], &w)) continue;
    if (w.dims == 2) multiply(out, &x, rows * (double)elements(&w) * times);
    out->bytes += times * size_of(&w);
  }
  out->bytes += times * size_of(&x);
  return 1;
}

// ---- operators of each element ----

struct shape { int dims; int64_t sizes[16]; uint8_t bytes, kind; int64_t read; int tensors; struct tensor first; };

static void broadcast(struct shape *s, const struct tensor *t) {
  for (int i = 1; i <= t->dims && i <= 16; i++) {
    int64_t n = t->sizes[t->dims - i];
    if (i > s->dims) s->sizes[i - 1] = n, s->dims = i;
    else if (s->sizes[i - 1] == 1) s->sizes[i - 1] = n;
  }
}

// add_operand promotes: a number, which is a tensor without dimensions, counts only if its kind is higher.
static void add_operand(struct shape *s, const struct tensor *t) {
  if (!s->tensors++) s->first = *t;
  int higher = t->kind > s->kind, like = t->kind == s->kind && t->bytes > s->bytes && t->dims;
  if (higher || like) s->bytes = higher && !t->dims && s->dims && t->kind == ELEMENT_FLOAT ? 4 : t->bytes, s->kind = t->kind;
  broadcast(s, t);
  if (t->dims) s->read += size_of(t); // a number is passed by value
}

static int64_t all(const struct shape *s) { return product(s->sizes, 0, s->dims); }

// operands reads up to `most` tensors among the arguments; another one is where the result goes.
static int operands(struct arguments *a, int most, struct shape *s) {
  struct tensor t;
  *s = (struct shape){0};
  for (size_t i = 0; i < a->of.n && s->tensors < most; i++)
    if (tensor(a, &a->of.at[i], &t)) add_operand(s, &t);
  return s->tensors > 0;
}

static int mapped(struct arguments *a, int most, struct work *w) {
  struct shape s;
  if (!operands(a, most, &s)) return 0;
  w->bytes = s.read + all(&s) * s.bytes;
  return 1;
}

static int compared(struct arguments *a, int most, struct work *w) { // the result has a byte for each element
  struct shape s;
  if (!operands(a, most, &s)) return 0;
  w->bytes = s.read + all(&s);
  return 1;
}

// like_first: the result has the shape and the dtype of the first tensor, as in place.
static int like_first(struct arguments *a, int most, struct work *w) {
  struct shape s;
  if (!operands(a, most, &s)) return 0;
  w->bytes = s.read + size_of(&s.first);
  return 1;
}

static int softmax(struct arguments *a, int unused, struct work *w) {
  (void)unused;
  struct tensor t;
  if (!tensor_at(a, 0, &t)) return 0;
  w->bytes = size_of(&t) + elements(&t) * (integer_at(a, 2, 0) ? 4 : t.bytes); // whether a half is converted to a float
  return 1;
}

static int dropout(struct arguments *a, int unused, struct work *w) {
  (void)unused;
  struct tensor t;
  if (!tensor_at(a, 0, &t)) return 0;
  w->bytes = size_of(&t) + elements(&t) * (t.bytes + 1); // and the mask
  return 1;
}

static int filled(struct arguments *a, int unused, struct work *w) {
  (void)unused;
  struct tensor t;
  if (!tensor_at(a, 0, &t)) return 0;
  w->bytes = size_of(&t);
  return 1;
}

// copied: a copy between tensors of one dtype and layout is the driver's, and has no kernel. Copies between devices have neither.
static int copied(struct arguments *a, int unused, struct work *w) {
  (void)unused;
  struct tensor to, from;
  if (!tensor_at(a, 0, &to) || !tensor_at(a, 1, &from) || to.gpu != from.gpu) return 0;
  int same = to.bytes == from.bytes && to.kind == from.kind && to.dims == from.dims;
  for (int d = 0; d < to.dims && same; d++) same = to.sizes[d] == 1 || (to.sizes[d] == from.sizes[d] && to.strides[d] == from.strides[d]);
  if (same) return 0;
  w->bytes = size_of(&to) + size_of(&from);
  return 1;
}

static int embedded(struct arguments *a, int unused, struct work *w) {
  (void)unused;
  struct tensor table, indices;
  if (!tensor_at(a, 0, &table) || !tensor_at(a, 1, &indices) || table.dims != 2) return 0;
  w->bytes = size_of(&indices) + 2 * elements(&indices) * table.sizes[1] * table.bytes;
  return 1;
}

static int concatenated(struct arguments *a, int unused, struct work *w) {
  (void)unused;
  struct torch_values list;
  struct tensor t;
  if (!a->of.n || !torch_list(a->of.at, &list)) return 0;
  for (size_t i = 0; i < list.n; i++)
    if (tensor(a, &list.at[i], &t)) w->bytes += size_of(&t) + elements(&t) * t.bytes;
  return 1;
}

// ---- reductions ----

static int64_t reduced_by(const struct tensor *t, int64_t d) {
  if (d < 0) d += t->dims;
  return d >= 0 && d < t->dims && t->sizes[d] ? t->sizes[d] : 1;
}

// Of a reduction: which argument the dimensions may be, and what its result has in place of elements of the tensor's dtype.
enum { AT = 3, ADDED = 1 << 2, TRUTHS = 1 << 3, PLACES_OF = 1 << 4, AND_PLACES = 1 << 5, PAIR = 1 << 6 };

// reduced: the dimensions are the argument AT or the next one, a list; or a number, argument 1, that more arguments follow. Without
// any, the result is one element.
static int reduced(struct arguments *a, int form, struct work *w) {
  struct tensor t, other;
  int first = form & AT;
  struct torch_values list;
  int64_t d, left;
  if (!tensor_at(a, 0, &t)) return 0;
  if (tensor_at(a, 1, &other)) return mapped(a, 2, w); // the maximum of two tensors
  left = elements(&t);
  int known = 0;
  for (size_t i = (size_t)first; i < a->of.n && i < 3 && !known; i++) {
    if ((known = torch_list(&a->of.at[i], &list) && list.n))
      for (size_t j = 0; j < list.n; j++) left /= torch_integer(&list.at[j], &d) ? reduced_by(&t, d) : 1;
  }
  if (!known && first == 1 && a->of.n > 2 && torch_integer(&a->of.at[1], &d)) left /= reduced_by(&t, d), known = 1;
  int64_t each = form & TRUTHS ? 1 : form & PLACES_OF || (form & ADDED && t.kind <= ELEMENT_INTEGER) ? 8 : t.bytes;
  if (form & PAIR) each *= 2;
  if (form & AND_PLACES && known) each += 8;
  w->bytes = size_of(&t) + (known ? left : 1) * each;
  return 1;
}

// ---- operators of lists of tensors: `written` has a bit for each list that is written ----

enum { FIRST_NOT_READ = 1 << 8, MADE = 1 << 9 }; // MADE: the result is new, and like the first list

static int listed(struct arguments *a, int written, struct work *w) {
  struct torch_values list;
  struct tensor t;
  int lists = 0;
  for (size_t i = 0; i < a->of.n; i++) {
    if (!torch_list(&a->of.at[i], &list)) continue;
    int times = !(!lists && written & FIRST_NOT_READ) + (lists < 8 && written >> lists & 1) + (!lists && written & MADE);
    for (size_t j = 0; j < list.n; j++)
      if (tensor(a, &list.at[j], &t)) w->bytes += times * size_of(&t);
    lists++;
  }
  return lists > 0;
}

// ---- operators by name ----

typedef int (*formula)(struct arguments *, int parameter, struct work *);
struct known { const char *names; formula formula; int parameter; };

enum { ANY = 16 };

static const struct known known[] = {
    {"mm bmm mv dot vdot", matrices, 0},
    {"addmm baddbmm addmv _addmm_activation", matrices, 1},
    {"_scaled_mm _int_mm", small_matrices, 0},
    {"convolution _convolution", convolution, 0},
    {"convolution_backward", convolution_backward, 0},
    {"_scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention"
     " _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable", attention, 0},
    {"_scaled_dot_product_flash_attention_backward _scaled_dot_product_efficient_attention_backward"
     " _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward"
     " _scaled_dot_product_fused_attention_overrideable_backward", attention_backward, 0},
    {"_flash_attention_forward", flash, 3},
    {"_efficient_attention_forward", flash, 4},
    {"_flash_attention_backward", flash_backward, 6},
    {"_efficient_attention_backward", flash_backward, 6},
    {"_cudnn_rnn", recurrent, 1},
    {"_cudnn_rnn_backward", recurrent, 2},

    {"relu gelu silu sigmoid tanh exp exp2 log log2 log10 log1p expm1 sqrt rsqrt neg abs reciprocal cos sin tan erf erfc sign sgn floor ceil"
     " round trunc clamp_min clamp_max hardtanh leaky_relu elu softplus hardswish hardsigmoid mish bitwise_not tril triu flip roll", mapped, 1},
    {"add sub rsub mul div remainder fmod maximum minimum pow atan2 hypot bitwise_and bitwise_or bitwise_xor masked_fill"
     " threshold_backward gelu_backward silu_backward sigmoid_backward tanh_backward hardtanh_backward leaky_relu_backward elu_backward"
     " softplus_backward hardswish_backward hardsigmoid_backward mish_backward _softmax_backward_data _log_softmax_backward_data"
     " native_dropout_backward", mapped, 2},
    {"where addcmul addcdiv lerp clamp", mapped, 3},
    {"eq ne lt le gt ge logical_and logical_or logical_xor", compared, 2},
    {"logical_not isnan isinf isfinite", compared, 1},
    {"relu_ gelu_ silu_ sigmoid_ tanh_ exp_ sqrt_ rsqrt_ neg_ abs_ reciprocal_ clamp_min_ clamp_max_ hardtanh_ leaky_relu_ elu_ hardswish_"
     " tril_ triu_", like_first, 1},
    {"add_ sub_ mul_ div_ pow_ masked_fill_", like_first, 2},
    {"addcmul_ addcdiv_ lerp_ clamp_", like_first, 3},
    {"native_layer_norm native_layer_norm_backward native_batch_norm native_batch_norm_backward cudnn_batch_norm cudnn_batch_norm_backward"
     " native_group_norm native_group_norm_backward _fused_rms_norm _fused_rms_norm_backward", like_first, ANY},
    {"_softmax _log_softmax", softmax, 0},
    {"native_dropout", dropout, 0},
    {"fill_ normal_ uniform_ bernoulli_ random_ exponential_", filled, 0},
    {"copy_", copied, 0},
    {"embedding", embedded, 0},
    {"cat", concatenated, 0},
    {"sum prod", reduced, 1 | ADDED}, // integers are added up in 64 bits
    {"mean amax amin std var", reduced, 1},
    {"var_mean std_mean", reduced, 1 | PAIR},
    {"max min", reduced, 1 | AND_PLACES},
    {"argmax argmin", reduced, 1 | PLACES_OF},
    {"any all", reduced, 1 | TRUTHS},
    {"norm linalg_vector_norm", reduced, 2}, // behind the number of the norm

    {"_foreach_add_ _foreach_sub_ _foreach_mul_ _foreach_div_ _foreach_addcmul_ _foreach_addcdiv_ _foreach_lerp_ _foreach_sqrt_"
     " _foreach_neg_ _foreach_abs_ _foreach_exp_ _foreach_pow_ _foreach_reciprocal_ _foreach_maximum_ _foreach_minimum_"
     " _foreach_clamp_max_ _foreach_clamp_min_ _foreach_sign_", listed, 1},
    {"_foreach_add _foreach_sub _foreach_mul _foreach_div _foreach_addcmul _foreach_addcdiv _foreach_lerp _foreach_sqrt _foreach_neg"
     " _foreach_abs _foreach_exp _foreach_pow _foreach_reciprocal _foreach_maximum _foreach_minimum _foreach_sign", listed, MADE},
    {"_foreach_zero_", listed, 1 | FIRST_NOT_READ},
    {"_foreach_copy_", listed, 1 | FIRST_NOT_READ},
    {"_foreach_norm _foreach_max", listed, 0},
    {"_fused_adam_ _fused_adamw_", listed, 1 | 4 | 8 | 16},
    {"_fused_sgd_", listed, 1 | 4},
    {"_fused_adagrad_", listed, 1 | 4},
};

// A table of the names, filled once: by hash, and by what follows "aten::".
enum { PLACES = 1024 };
static struct { const char *name; size_t length; const struct known *of; } places[PLACES];

static size_t hash(const char *name, size_t length) {
  uint64_t h = length, word;
  for (; length >= 8; name += 8, length -= 8) memcpy(&word, name, 8), h = (h ^ word) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
  word = 0;
  memcpy(&word, name, length);
  return (size_t)((h ^ word) * 0x9e3779b97f4a7c15u >> 40);
}

static const struct known *find(const char *name, size_t length, size_t *place) {
  for (size_t i = hash(name, length);; i++) {
    *place = i % PLACES;
    if (!places[*place].of) return NULL;
    if (places[*place].length == length && !memcmp(places[*place].name, name, length)) return places[*place].of;
  }
}

void torch_work_prepare(void) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    for (const char *name = known[i].names; *name;) {
      size_t length = strcspn(name, " "), place;
      if (!find(name, length, &place)) places[place].name = name, places[place].length = length, places[place].of = &known[i];
      name += length + (name[length] == ' ');
    }
}

const struct known *torch_work_of(const char *name) {
  size_t place;
  return strncmp(name, "aten::", 6) ? NULL : find(name + 6, strlen(name + 6), &place);
}

int torch_work(const struct known *of, struct torch_values arguments, int everywhere, struct work *out) {
  struct arguments a = {.of = arguments};
  *out = (struct work){0};
  if (!of->formula(&a, of->parameter, out) || a.opaque || !(a.gpu || everywhere)) return 0;
  return 1;
}
