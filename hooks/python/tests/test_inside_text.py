"""The texts of TTGIR that compilers print rarely or never: what is read from them, and what gets scopes."""

import random
import re

import pytest

from goproton._inside import places, ttgir
from goproton._inside.rewrite import rewrite
from goproton._inside.ttgir import Module, Unreadable

HEAD = 'module attributes {"ttg.num-warps" = 4 : i32} {\n'
TAIL = "\n} loc(#loc)\n"
LOCATIONS = '#loc = loc("/a/kernel.py":1:0)\n#loc1 = loc("/a/kernel.py":7:4)\n#loc2 = loc("/a/kernel.py":8:4)\n'


def kernel(*lines, arguments='%x_ptr: !tt.ptr<f32> loc("x_ptr"(#loc))', locations=LOCATIONS):
    body = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}  tt.func public @k({arguments}) attributes {{noinline = false}} {{\n{body}    tt.return loc(#loc)\n  }} loc(#loc){TAIL}{locations}"


def names(text, **options):
    return [place.name for place in rewrite(text, **options).places]


def without(done):
    added = set(done.added)
    return "\n".join(line for number, line in enumerate(done.text.split("\n")) if number not in added)


def test_records_take_the_location_of_their_operation():
    done = rewrite(kernel("%0 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc1)"))
    assert [line.strip() for line in done.text.split("\n") if "proton" in line] == [
        'proton.record start "kernel" loc(#loc1)', 'proton.record start "load x_ptr:7" loc(#loc1)',
        'proton.record end "load x_ptr:7" loc(#loc1)', 'proton.record end "kernel" loc(#loc1)']


def test_without_locations_scopes_have_no_lines():
    text = kernel("%0 = tt.load %x_ptr : !tt.ptr<f32>", "tt.store %x_ptr, %0 : !tt.ptr<f32>", arguments="%x_ptr: !tt.ptr<f32>", locations="")
    text = re.sub(r" loc\(#loc\)", "", text)
    done = rewrite(text)
    assert [place.name for place in done.places] == ["kernel", "load x_ptr", "store x_ptr"]
    assert without(done) == text


@pytest.mark.parametrize("location, file, line", [
    ('"/a/kernel.py":7:4', "/a/kernel.py", 7),
    (r'"/a \"quoted\" {folder}(1)/k.py":3:0', '/a "quoted" {folder}(1)/k.py', 3),
    ('"x"("/a/kernel.py":9:1)', "/a/kernel.py", 9),
    ('callsite("/a/helper.py":4:1 at "/a/kernel.py":7:4)', "/a/helper.py", 4),
    ('callsite("s"("/p/triton/language/standard.py":4:1) at callsite("/a/kernel.py":7:4 at "/a/outer.py":2:2))', "/a/kernel.py", 7),
    ('fused<"why">["/a/kernel.py":7:4, "/a/kernel.py":9:4]', "/a/kernel.py", 7),
    ("unknown", "", 0),
    ("#nowhere", "", 0),
])
def test_locations(location, file, line):
    module = Module(kernel() + f"#loc9 = loc({location})\n")
    found = module.location("loc(#loc9)")
    assert (found.file, found.line) == (file, line)
    inline = module.location(f"loc({location})")
    assert (inline.file, inline.line) == (file, line)


def test_a_location_that_names_itself_ends():
    assert Module(kernel() + "#loc9 = loc(#loc9)\n").location("loc(#loc9)").line == 0


def test_a_location_in_another_file_names_it():
    text = kernel('%0 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc9)', locations=LOCATIONS + '#loc9 = loc("/a/b/helper.py":3:1)\n')
    assert names(text) == ["kernel", "load x_ptr:helper.py:3"]


def test_braces_and_quotes_in_strings_begin_no_region():
    text = kernel('%0 = tt.elementwise_inline_asm "{ mov.b32 $0, \\22}\\22; }({" {constraints = "=r,r", pure = true} %x_ptr : f32 -> f32 loc(#loc1)',
                  "%1 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc1)")
    assert names(text) == ["kernel", "load x_ptr:7"]


def test_combine_functions_get_no_records():
    text = kernel('%0 = "tt.reduce"(%x_ptr) <{axis = 0 : i32}> ({',
                  "^bb0(%a: f32 loc(unknown), %b: f32 loc(unknown)):",
                  "  %1 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc2)",
                  "  tt.reduce.return %1 : f32 loc(#loc1)",
                  "}) : (tensor<8xf32>) -> f32 loc(#loc1)")
    assert names(text) == ["kernel", "reduce:7"]


def test_code_per_element_gets_no_records():
    text = kernel("%0 = tt.map_elementwise(%x_ptr) {",
                  "  %1 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc2)",
                  "  tt.map_elementwise.return %1 : f32 loc(#loc1)",
                  "} loc(#loc1)")
    assert names(text) == ["kernel"]


def test_neighbours_of_one_line_share_a_scope():
    load = "tt.load %x_ptr : !tt.ptr<f32> loc(#loc1)"
    add = "%5 = arith.addf %0, %1 : f32 loc(#loc1)"
    assert names(kernel(f"%0 = {load}", add, f"%1 = {load}")) == ["kernel", "load x_ptr:7"]
    assert names(kernel(f"%0 = {load}", "gpu.barrier loc(#loc2)", f"%1 = {load}")) == ["kernel", "load x_ptr:7", "barrier:8", "load x_ptr:7"]


def test_scopes_by_hand_stay_and_are_not_straddled():
    load = "tt.load %x_ptr : !tt.ptr<f32> loc(#loc1)"
    text = kernel(f"%0 = {load}", 'proton.record start "mine" loc(#loc1)', f"%1 = {load}", 'proton.record end "mine" loc(#loc1)', f"%2 = {load}")
    done = rewrite(text)
    assert without(done) == text
    words = re.findall(r'proton\.record (start|end) "([^"]*)"', done.text)
    assert words == [("start", "kernel"), *[("start", "load x_ptr:7"), ("end", "load x_ptr:7")], ("start", "mine"), ("start", "load x_ptr:7"),
                     ("end", "load x_ptr:7"), ("end", "mine"), ("start", "load x_ptr:7"), ("end", "load x_ptr:7"), ("end", "kernel")]


def test_a_name_of_the_program_is_not_taken():
    text = kernel('proton.record start "kernel" loc(#loc1)', "%0 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc1)", 'proton.record end "kernel" loc(#loc1)')
    assert names(text) == ["kernel'", "load x_ptr:7"]


def test_ids_of_the_program_count():
    own = [line for number in range(250) for line in (f'proton.record start "s{number}" loc(#loc1)', f'proton.record end "s{number}" loc(#loc1)')]
    loads = [line for number in range(10) for line in (f"%{number} = tt.load %x_ptr : !tt.ptr<f32> loc(#loc1)", "gpu.barrier loc(#loc2)")]
    done = rewrite(kernel(*own, *loads))
    assert [place.name for place in done.places] == ["kernel"]
    assert done.left_out == {"load x_ptr:7": 10, "barrier:8": 10}


def test_the_most_important_kinds_are_kept():
    body = ["scf.for %i = %a to %b step %c {", "  tt.store %x_ptr, %i : !tt.ptr<f32> loc(#loc2)", "} loc(#loc1)"]
    assert names(kernel(*body)) == ["kernel", "loop:7", "store x_ptr:8"]
    done = rewrite(kernel(*body), pairs=2)
    assert [place.name for place in done.places] == ["kernel", "loop:7"] and done.left_out == {"store x_ptr:8": 1}
    assert rewrite(kernel(*body), pairs=0).text == kernel(*body)


def test_pointers_are_followed_through_loops():
    arguments = '%p: !tt.ptr<f32> loc("p"(#loc)), %q: !tt.ptr<f32> loc("q"(#loc))'
    text = kernel("%0:2 = scf.for %i = %a to %b step %c iter_args(%x = %q, %y = %p) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {",
                  "  %1 = tt.load %x : !tt.ptr<f32> loc(#loc2)",
                  "  %2 = tt.addptr %x, %c : !tt.ptr<f32>, i32 loc(#loc2)",
                  "  scf.yield %2, %y : !tt.ptr<f32>, !tt.ptr<f32> loc(#loc1)",
                  "} loc(#loc1)",
                  "tt.store %0#1, %1 : !tt.ptr<f32> loc(#loc2)", arguments=arguments)
    assert names(text) == ["kernel", "loop:7", "load q:8", "store p:8"]


def test_pointers_that_change_places_have_no_name():
    arguments = '%p: !tt.ptr<f32> loc("p"(#loc)), %q: !tt.ptr<f32> loc("q"(#loc))'
    text = kernel("%0:2 = scf.for %i = %a to %b step %c iter_args(%x = %q, %y = %p) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {",
                  "  %1 = tt.load %x : !tt.ptr<f32> loc(#loc2)",
                  "  scf.yield %y, %x : !tt.ptr<f32>, !tt.ptr<f32> loc(#loc1)",
                  "} loc(#loc1)",
                  "tt.store %0#1, %1 : !tt.ptr<f32> loc(#loc2)", arguments=arguments)
    assert names(text) == ["kernel", "loop:7", "load:8", "store:8"]


@pytest.mark.parametrize("name", ['größe', 'a"b\\c', "tab\there", "日本語"])
def test_any_name_is_quoted(name):
    quoted = "".join(f"\\{byte:02X}" for byte in name.encode())
    text = kernel("%0 = ttg.local_alloc : () -> !ttg.memdesc<1xi64> loc(#loc9)", "ttng.wait_barrier %0, %x_ptr : i1 loc(#loc1)",
                  locations=LOCATIONS + f'#loc9 = loc("{quoted}"(#loc1))\n')
    done = rewrite(text)
    assert [place.name for place in done.places] == ["kernel", f"wait {name}:7"]
    record = re.search(r'proton\.record start "(wait [^"]*)"', done.text)[1]
    assert ttgir.unquote(record) == f"wait {name}:7"


@pytest.mark.parametrize("text", ["", "module {", "not MLIR at all", HEAD, HEAD + "  tt.func public @k() {\n", kernel("%0 ="),
                                  HEAD + "  tt.func private @k() {\n    tt.return loc(#loc)\n  } loc(#loc)" + TAIL])
def test_other_texts_are_refused(text):
    with pytest.raises(Unreadable):
        rewrite(text)


def test_damaged_text_is_refused_or_gets_whole_scopes():
    """Whatever is cut from a text or put into it: an error of ours, or a text that is the same without its records."""
    text = kernel("scf.for %i = %a to %b step %c iter_args(%x = %x_ptr) -> (i32) : i32 {",
                  "  %1 = tt.load %x : !tt.ptr<f32> loc(#loc2)",
                  "  ttg.warp_specialize(%x_ptr)",
                  "  default {",
                  "    gpu.barrier loc(#loc1)",
                  "    ttg.warp_yield loc(#loc1)",
                  "  }",
                  "  partition0(%arg1: !tt.ptr<f32> loc(unknown)) num_warps(4) {",
                  "    tt.store %arg1, %x_ptr : !tt.ptr<f32> loc(#loc1)",
                  "    ttg.warp_return loc(#loc1)",
                  "  } : (!tt.ptr<f32>) -> () loc(#loc1)",
                  "  scf.yield %x : i32 loc(#loc1)",
                  "} loc(#loc1)")
    assert names(text) == ["kernel", "loop:7", "load x_ptr:8", "default", "barrier:7", "partition0", "store x_ptr:7"]
    seed = random.Random(7)
    refused = 0
    for _ in range(3000):
        at, length = seed.randrange(len(text)), seed.choice((1, 1, 2, 40))
        damaged = text[:at] + seed.choice(("", "{", "}", '"', "(", ")", "%", "\n", "= ", "loc(", "\\", "^bb0:")) + text[at + length:]
        try:
            done = rewrite(damaged)
        except Unreadable:
            refused += 1
            continue
        assert without(done) == damaged
        starts = re.findall(r'^\s*proton\.record start "([^"]*)"', done.text, re.M)
        assert sorted(starts) == sorted(re.findall(r'^\s*proton\.record end "([^"]*)"', done.text, re.M))
    assert refused


def test_kinds_are_known():
    assert set(places._KIND_OF.values()) <= set(places.KINDS)


COPY = """module {
    %27 = ttng.init_barrier %26, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable> loc(#loc)
    ttg.warp_specialize(%length, %9) attributes {requestedRegisters = array<i32: 232, 232>}
      ttng.async_tma_copy_global_to_local %q_desc[%row, %c0] %50, %49, %true {async_task_id = array<i32: 0>} : !tt.tensordesc<BLOCKf16, #shared>>, \
!ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable> loc(#loc51)
"""


@pytest.mark.parametrize("block, ends", [("tensor<64x64x", True), ("tensor<128x64x", False), ("128x64x", False), ("1x64x64x", True)])
def test_kernels_that_wait_forever(tmp_path, block, ends):
    """Triton 3.6 makes a kernel whose warps wait for 64 rows that are copied, and copies 128: seen on an H200, without a session too."""
    from goproton._inside import kernels
    path = tmp_path / "kernel.ttgir"
    path.write_text(COPY.replace("BLOCK", block))
    said = kernels.doubts({"kernel.ttgir": str(path)}, False)
    assert said == [] if ends else len(said) == 1 and said[0].startswith("will never end, with scopes or without"), said
    path.write_text(path.read_text().replace("ttg.warp_specialize(", "scf.for("))
    assert kernels.doubts({"kernel.ttgir": str(path)}, False) == []
