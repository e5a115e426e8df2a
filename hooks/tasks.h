// Scopes and states that follow the tasks of an event loop. Tasks of one thread take turns, and each may hold scopes while others run.
//
// What a task holds is a list in its context (contextvars), innermost first: a tuple of the list around it, the name, and the generation of
// sessions. Lists never change, so that a task begins with the list of the one that made it. While a step of a task runs, its scopes
// are open on the thread: tasks_follow leaves those of the task before and enters those of this one. Between steps, and on threads that run
// no loop, none of this is used, and scopes cost one branch more.
#ifndef GOPROTON_HOOKS_TASKS_H
#define GOPROTON_HOOKS_TASKS_H

#include "native.h"

enum tasks_kind { TASKS_SCOPES, TASKS_STATES, TASKS_KINDS };

struct tasks;
extern __thread struct tasks *tasks_here __attribute__((tls_model("initial-exec"))); // of the step that this thread runs, or NULL

// tasks_entered notes what the step has entered. It returns the new list, a new reference, or NULL without a Python error.
PyObject *tasks_entered(enum tasks_kind kind, PyObject *name, struct hp_token token);
// tasks_leave leaves the innermost of a list, with what is open inside of it, if it is a list of this step; NULL stands for the innermost of
// all. It returns 1 if it has left something.
int tasks_leave(enum tasks_kind kind, PyObject *list);
// tasks_innermost returns the list of what the step holds, borrowed, NULL for none.
PyObject *tasks_innermost(enum tasks_kind kind);
// tasks_token returns the scope of a list as it is open on this thread, {0, 0} if it is not.
struct hp_token tasks_token(PyObject *list);

int tasks_init(PyObject *module);
PyObject *native_follow(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_unfollow(PyObject *, PyObject *before);
PyObject *native_following(PyObject *, PyObject *);

#endif
