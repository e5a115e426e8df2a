"""CUDA graphs: node by node at the call paths of their capture, or whole."""
import gc

import pytest
import torch

import goproton as proton


def replayed(graph, n, scope="replay"):
    for _ in range(n):
        with proton.scope(scope):
            graph.replay()


def test_cuda_graph(profiled, work):
    def body():
        with proton.scope("capture"):
            g = work.captured()
        replayed(g, 4)
    counts = profiled(body).counts()
    inner = {p: n for p, n in counts.items() if p.startswith("replay/<captured_at>")}
    assert len(inner) == 6, list(counts)
    assert set(inner.values()) == {4}
    assert any(p.startswith("replay/<captured_at>/capture/iter2/") for p in inner), list(inner)


@pytest.mark.usefixtures("any_libcupti")
def test_cuda_graph_with_hook(profiled, work):
    rows = profiled(lambda: replayed(work.captured(1), 3), hook="triton").rows()
    m = rows["replay/<captured_at>/iter0/add_4096"]
    assert (m["count"], m["bytes"]) == (3, 3 * 12 * 4096)
    assert "iter0/add_4096" not in rows or "bytes" not in rows["iter0/add_4096"], rows.keys()


def test_cuda_graph_before_start(profiled, work):
    g = work.captured(2)
    counts = profiled(lambda: replayed(g, 1)).counts()
    assert sum(counts.values()) >= 4 and any("add_kernel" in p for p in counts), counts


def test_whole_graphs_under_proton_run(run):
    """Graphs captured while active, while inactive, and launched after the session: none may crash the program."""
    counts = run("whole_graphs", flags=["--graph", "graph"]).tree().counts()
    assert (counts.get("replay/<graph>"), counts.get("again/<graph>")) == (5, 2), counts
    assert sum(n for p, n in counts.items() if "<graph>" in p) == 7, counts


def test_whole_graphs_asked_for_too_late(profiled, work, monkeypatch):
    g = work.captured()
    g.replay()
    monkeypatch.setenv("PROTON_GRAPH", "graph")
    counts = profiled(lambda: replayed(g, 1)).counts()  # falls back to node by node, and says so
    assert sum(counts.values()) == 6, counts
    g.replay()
    torch.cuda.synchronize()


@pytest.mark.usefixtures("any_libcupti")
def test_cuda_graph_level(profiled, work, monkeypatch):
    monkeypatch.setenv("PROTON_GRAPH", "graph")
    monkeypatch.setenv("PROTON_GRAPH_LATE", "1")
    for _ in range(3):
        kept = []

        def body():
            kept.append(work.captured())
            replayed(kept[0], 5)
        counts = profiled(body).counts()
        assert counts.get("replay/<graph>") == 5, counts
        kept[0].replay()  # after the session
        torch.cuda.synchronize()


def test_graphs_are_freed(profiled, work):
    def body():
        for _ in range(30):
            g = work.captured(1)
            g.replay()
            del g
            gc.collect()
        torch.cuda.synchronize()
    assert profiled(body).total() >= 60
