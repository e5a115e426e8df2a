#include "hotpath.h"
#include "launch.h"
#include "meter.h"
#include "names.h"
#include "paths.h"
#include "questions.h"
#include "scope.h"
#include "tensormetric.h"
#include "thread.h"

static void set_python_walker(uint32_t (*walk)(void)) { atomic_store(&hp_g.walker, walk); }

static void set_lender(void *(*lender)(void)) { atomic_store(&hp_g.lender, lender); }

static void *thread(void) { return hp_living(); }

static uint32_t generation(void) { return atomic_load_explicit(&hp_g.generation, memory_order_acquire) + atomic_load_explicit(&hp_g.reclaims, memory_order_acquire); }

static const struct hp_api table = {
    .size = sizeof table,
    .intern = hp_intern,
    .frame_name_in = hp_frame_name_in,
    .hold_names = hp_hold_names,
    .text = hp_text,
    .child = hp_child,
    .node = hp_node_get,
    .active = hp_active,
    .keeps_scopes = hp_keeps_scopes,
    .scope_enter = hp_scope_enter,
    .scope_exit = hp_scope_exit,
    .scope_node = hp_scope_node,
    .set_lender = set_lender,
    .thread = thread,
    .state_enter = hp_state_enter,
    .state_exit = hp_state_exit,
    .op_enter = hp_op_enter,
    .op_exit = hp_op_exit,
    .metric_int = hp_metric_int,
    .metric_double = hp_metric_double,
    .metric_at = hp_metric_at,
    .tensor_metric = hp_tensor_metric,
    .leaf = hp_leaf_now,
    .leaf_begin = hp_leaf_begin,
    .leaf_end = hp_leaf_end,
    .set_python_walker = set_python_walker,
    .generation = generation,
    .watch = &hp_g.watch,
    .stream_capturing = hp_stream_capturing,
    .current_device = hp_current_device,
    .tag_launch = hp_tag_launch,
    .last_launch = hp_last_launch,
    .last_correlation = hp_last_correlation,
    .counter = hp_counter,
    .own_work = hp_own_work,
    .set_clock = hp_set_clock,
    .metered = &hp_g.metered,
    .meter_begin = hp_meter_begin,
    .meter_end = hp_meter_end,
    .set_thinner = hp_set_thinner,
};

const struct hp_api *hp_api(void) { return &table; }
