// The kernel that stores the values of a tensor, as text for the driver's compiler: it runs on every GPU from sm_50 on. Up to 32
// threads of one block share the elements.
//
//   room   the ring of values in memory of the host; mask: its size - 1
//   from   the tensor; count, element (enum hp_element), as (enum hp_metric_type)
//   number of the tensor metric
//
// The check is that of cupti_value_check.
#ifndef GOPROTON_CUPTI_TENSOR_PTX_H
#define GOPROTON_CUPTI_TENSOR_PTX_H

#include "tensor.h"

// Loads element %i of the given type as an integer or as a double, and goes on at WHOLE or at REAL.
#define LOAD_INT(label, type, bytes) \
  label ":\n" \
  "mul.wide.u32 %offset, %i, " bytes ";\n" \
  "add.u64 %at, %from, %offset;\n" \
  "ld.global." type " %whole, [%at];\n" \
  "bra WHOLE;\n"
#define LOAD_16(label, convert) \
  label ":\n" \
  "mul.wide.u32 %offset, %i, 2;\n" \
  "add.u64 %at, %from, %offset;\n" \
  "ld.global.u16 %half, [%at];\n" \
  convert \
  "cvt.f64.f32 %real, %single;\n" \
  "bra REAL;\n"
#define IF_ELEMENT(number, label) \
  "setp.eq.u32 %p, %element, " number ";\n" \
  "@%p bra " label ";\n"

_Static_assert(HP_INT == 1 && HP_DOUBLE == 2 && HP_INT8 == 0 && HP_INT64 == 6 && HP_FLOAT16 == 7 && HP_FLOAT64 == 10 && VALUE_INDEX_BITS == 17,
               "the text below has these numbers");

#define FOLD "mul.lo.u64 %place, %place, 0x9E3779B97F4A7C15U;\n" // VALUE_FACTOR

static const char tensor_ptx[] =
  ".version 6.0\n.target sm_50\n.address_size 64\n"
  ".global .align 8 .u64 stored;\n" // values so far
  ".visible .entry " TENSOR_KERNEL "(.param .u64 p_room, .param .u32 p_mask, .param .u64 p_from, .param .u32 p_count,"
  " .param .u32 p_element, .param .u32 p_as, .param .u32 p_number)\n"
  "{\n"
  ".reg .pred %p;\n"
  ".reg .b16 %half;\n"
  ".reg .b32 %mask, %count, %element, %as, %number, %lane, %lanes, %i, %bits;\n"
  ".reg .b64 %room, %from, %base, %many, %stamp, %at, %offset, %place, %to, %whole, %value, %owner;\n"
  ".reg .f32 %single;\n"
  ".reg .f64 %real;\n"
  ".shared .align 8 .u64 first;\n"
  "mov.u64 %stamp, %globaltimer;\n" // first, because it is compared with the start of the kernel's activity
  "ld.param.u64 %room, [p_room];\n"
  "ld.param.u32 %mask, [p_mask];\n"
  "ld.param.u64 %from, [p_from];\n"
  "ld.param.u32 %count, [p_count];\n"
  "ld.param.u32 %element, [p_element];\n"
  "ld.param.u32 %as, [p_as];\n"
  "ld.param.u32 %number, [p_number];\n"
  "mov.u32 %lane, %tid.x;\n"
  "mov.u32 %lanes, %ntid.x;\n"
  "setp.ne.u32 %p, %lane, 0;\n"
  "@%p bra RESERVED;\n"
  "cvt.u64.u32 %many, %count;\n"
  "mov.u64 %at, stored;\n"
  "atom.global.add.u64 %base, [%at], %many;\n"
  "st.shared.u64 [first], %base;\n"
  "RESERVED:\n"
  "bar.sync 0;\n"
  "ld.shared.u64 %base, [first];\n"
  "mov.u32 %i, %lane;\n"
  "NEXT:\n"
  "setp.ge.u32 %p, %i, %count;\n"
  "@%p bra DONE;\n"
  IF_ELEMENT("0", "INT8") IF_ELEMENT("1", "UINT8") IF_ELEMENT("2", "INT16") IF_ELEMENT("3", "UINT16")
  IF_ELEMENT("4", "INT32") IF_ELEMENT("5", "UINT32") IF_ELEMENT("6", "INT64") IF_ELEMENT("7", "FLOAT16")
  IF_ELEMENT("8", "BFLOAT16") IF_ELEMENT("9", "FLOAT32")
  "mul.wide.u32 %offset, %i, 8;\n"
  "add.u64 %at, %from, %offset;\n"
  "ld.global.f64 %real, [%at];\n"
  "bra REAL;\n"
  LOAD_INT("INT8", "s8", "1") LOAD_INT("UINT8", "u8", "1") LOAD_INT("INT16", "s16", "2") LOAD_INT("UINT16", "u16", "2")
  LOAD_INT("INT32", "s32", "4") LOAD_INT("UINT32", "u32", "4") LOAD_INT("INT64", "s64", "8")
  LOAD_16("FLOAT16", "cvt.f32.f16 %single, %half;\n")
  LOAD_16("BFLOAT16", "cvt.u32.u16 %bits, %half;\nshl.b32 %bits, %bits, 16;\nmov.b32 %single, %bits;\n")
  "FLOAT32:\n"
  "mul.wide.u32 %offset, %i, 4;\n"
  "add.u64 %at, %from, %offset;\n"
  "ld.global.f32 %single, [%at];\n"
  "cvt.f64.f32 %real, %single;\n"
  "REAL:\n"
  "mov.b64 %value, %real;\n"
  "setp.eq.u32 %p, %as, 2;\n"
  "@%p bra STORE;\n"
  "cvt.rni.s64.f64 %value, %real;\n"
  "bra STORE;\n"
  "WHOLE:\n"
  "mov.b64 %value, %whole;\n"
  "setp.eq.u32 %p, %as, 1;\n"
  "@%p bra STORE;\n"
  "cvt.rn.f64.s64 %real, %whole;\n"
  "mov.b64 %value, %real;\n"
  "STORE:\n"
  "cvt.u64.u32 %offset, %i;\n"
  "add.u64 %place, %base, %offset;\n"
  "cvt.u64.u32 %offset, %mask;\n"
  "and.b64 %to, %place, %offset;\n"
  "shl.b64 %to, %to, 5;\n"
  "add.u64 %to, %to, %room;\n"
  "popc.b32 %bits, %mask;\n"
  "shr.u64 %offset, %place, %bits;\n"
  "cvt.u32.u64 %bits, %offset;\n"
  "shl.b32 %bits, %bits, 17;\n"
  "or.b32 %bits, %bits, %i;\n"
  "mov.b64 %owner, {%number, %bits};\n"
  "add.u64 %place, %place, 1;\n"
  "xor.b64 %place, %place, %owner;\n"
  FOLD "xor.b64 %place, %place, %stamp;\n"
  FOLD "xor.b64 %place, %place, %value;\n"
  FOLD "st.global.v2.u64 [%to], {%place, %owner};\n"
  "st.global.v2.u64 [%to+16], {%stamp, %value};\n"
  "add.u32 %i, %i, %lanes;\n"
  "bra NEXT;\n"
  "DONE:\n"
  "ret;\n"
  "}\n";

#endif
