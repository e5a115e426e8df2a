#!/usr/bin/env bash
# Builds the fake driver libraries, and the program that replays a capture through them, into DIR (build):
#   stub/libcuda.so.1, stub/libcupti.so       CUDA 13.0
#   stub/libnvidia-ml.so.1                  NVML, of a GPU that takes 300 W
#   stub/cupti-12/libcupti.so, stub/cupti-11/  12.8 and 11.8, without the functions that these lack
#   stub/fake-program                        a program for the fake driver, to record and to profile
#   proton-replay
#   stub/hip/libamdhip64.so.6, libroctracer64.so.4, librocprofiler-sdk.so.1   HIP 6, roctracer 4.1 and rocprofiler-sdk 1.2.1
#   stub/hip/libroctx64.so.4                 4.1
#   stub/hip/fake-program, fake-training     programs for the fake HIP
#   stub/hip-6.4/librocprofiler-sdk.so.0     0.6.0
# With STUB_TESTS=no it leaves out what only tests load: libnvidia-ml, cupti-12, cupti-11 and the fake programs.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build}/stub
flags=(-std=c11 -O2 -g -fPIC -Wall -Wextra -Werror -fvisibility=hidden -Ihotpath -Ihotpath/recorder -Ireplay/player ${STUB_CFLAGS:-})
cc=${CC:-cc} # may have arguments
s=replay/fakecuda
p=replay/player
tests=${STUB_TESTS:-yes}
mkdir -p "$out"

# The file is linked under another name and renamed, because a running test may have the old file mapped.
library() { # OUTPUT FLAGS AND SOURCES...
  local target=$1
  shift
  $cc "${flags[@]}" -shared -o "$target.new" "$@" -pthread -ldl
  mv "$target.new" "$target"
}

library "$out/libcuda.so.1" -Wl,-soname,libcuda.so.1 $s/{cuda,memory,graph,tensor,common}.c $p/reader.c
tracer=($s/{cupti,buffers,counters,lines,pm,several,sampling,check,replay,replay_clock,replay_gpu,replay_records,synthetic,common}.c $p/{reader,map,player,program}.c "$out/libcuda.so.1")
library "$out/libcupti.so" -DSTUB_CUPTI=130000 -Wl,-rpath,'$ORIGIN' "${tracer[@]}"
$cc "${flags[@]}" -o "$out/../proton-replay" replay/host/replay.c -ldl
if [ "$tests" = yes ]; then
  mkdir -p "$out/cupti-12" "$out/cupti-11"
  library "$out/libnvidia-ml.so.1" -Wl,-soname,libnvidia-ml.so.1 $s/nvml.c
  library "$out/cupti-12/libcupti.so" -DSTUB_CUPTI=26 -Wl,-rpath,'$ORIGIN/..' "${tracer[@]}"
  library "$out/cupti-11/libcupti.so" -DSTUB_CUPTI=18 -Wl,-rpath,'$ORIGIN/..' "${tracer[@]}"
  $cc "${flags[@]}" -o "$out/fake-program" $s/program.c "$out/libcuda.so.1" -Wl,-rpath,'$ORIGIN' -pthread -ldl
fi

r=replay/fakehip
replay=(roctracer/hip_calls.c $p/{reader,map,player,program}.c)
mkdir -p "$out/hip"
library "$out/hip/libamdhip64.so.6" -Wl,-soname,libamdhip64.so.6 $r/{hip,register,tracer,prof,replay,common}.c "${replay[@]}"
library "$out/hip/libroctracer64.so.4" -Wl,-soname,libroctracer64.so.4 $r/{roctracer,prof,common}.c roctracer/hip_calls.c
library "$out/hip/libroctx64.so.4" -Wl,-soname,libroctx64.so.4 $r/roctx.c
if [ "$tests" = yes ]; then
  $cc "${flags[@]}" -o "$out/hip/fake-program" $r/program.c "$out/hip/libamdhip64.so.6" -Wl,-rpath,'$ORIGIN' -pthread -ldl
  $cc "${flags[@]}" -o "$out/hip/fake-training" $r/training.c "$out/hip/libamdhip64.so.6" "$out/hip/libroctx64.so.4" -Wl,-rpath,'$ORIGIN' -pthread -ldl
fi
library "$out/hip/librocprofiler-sdk.so.1" -Wl,-soname,librocprofiler-sdk.so.1 $r/{sdk,common}.c roctracer/hip_calls.c
[ "$tests" = no ] || library "$out/hip/libamd_smi.so" -Wl,-soname,libamd_smi.so $r/smi.c
mkdir -p "$out/hip-6.4"
library "$out/hip-6.4/librocprofiler-sdk.so.0" -DSTUB_LAYOUT_A -Wl,-soname,librocprofiler-sdk.so.0 $r/{sdk,common}.c roctracer/hip_calls.c
