// How frames of PyTorch and scopes of the program end in any order.
#include "torchscopes.h"

static const struct hp_token innermost = {0, 0};

int torch_scopes_open(struct torch_scopes *s, uint32_t name) {
  if (s->n == TORCH_SCOPES) return 0;
  struct hp_token token = hooks_hp->scope_enter(name);
  if (token.node) s->open[s->n++] = token;
  return token.node != 0;
}

// above lists the names of what is open inside a scope, innermost first. -1: the scope is not open, or too much is open inside.
static int above(uint32_t node, uint32_t names[TORCH_ASIDE]) {
  int n = 0;
  uint32_t at = hooks_hp->scope_node();
  for (; at && at != node && n < TORCH_ASIDE; n++) {
    struct hp_node inner = hooks_hp->node(at);
    names[n] = inner.name, at = inner.parent;
  }
  return at == node ? n : -1;
}

void torch_scopes_close(struct torch_scopes *s) {
  uint32_t names[TORCH_ASIDE];
  struct hp_token token = s->n ? s->open[--s->n] : innermost;
  if (!token.node || token.generation != hooks_hp->generation()) return; // all sessions that saw it have ended
  int n = above(token.node, names);
  if (n < 0) return;
  for (int i = 0; i <= n; i++) hooks_hp->scope_exit(innermost);
  if (n) s->moved = 1;
  while (n-- > 0) hooks_hp->scope_enter(names[n]);
}

void torch_scopes_aside(struct torch_scopes *s, struct torch_aside *a) {
  a->n = 0;
  while (s->n && a->n < TORCH_ASIDE) {
    struct hp_token token = s->open[s->n - 1];
    if (!token.node || token.generation != hooks_hp->generation() || token.node != hooks_hp->scope_node()) return;
    a->names[a->n++] = hooks_hp->node(token.node).name;
    hooks_hp->scope_exit(innermost);
    s->n--;
  }
}

void torch_scopes_back(struct torch_scopes *s, struct torch_aside *a) {
  while (a->n) s->open[s->n++] = hooks_hp->scope_enter(a->names[--a->n]);
}
