import assert from "node:assert/strict";
import {test} from "node:test";
import {bottomUp, callees, callers, isCut, mostCallers, topDown} from "../graph.js";
import {layout} from "../layout.js";
import {treeOf} from "./trees.js";

const metric = {column: 0, old: -1};
// f calls itself: 10 in all, 6 of it below the inner one. The root has 1 of its own, g 2 + 1.
const {tree, strings} = treeOf(["ROOT", 14, ["f", 10, ["f", 6, ["g", 2], ["h", 1]]], ["g", 3, ["h", 2]]]);

/** shown writes a graph as nested arrays of name, value and what is below. */
function shown(graph, i = 0) {
  const below = [];
  for (let c = i + 1; c < graph.end[i]; c = graph.end[c]) below.push(shown(graph, c));
  return [strings[graph.name[i]], graph.now[i], ...below];
}

test("topDown is the tree", () => {
  assert.deepEqual(shown(topDown(tree, metric)), ["ROOT", 14, ["f", 10, ["f", 6, ["g", 2], ["h", 1]]], ["g", 3, ["h", 2]]]);
});

test("bottomUp adds up own values, and gives them to the callers", () => {
  assert.deepEqual(shown(bottomUp(tree, metric)), ["ROOT", 14,
    ["f", 7, ["f", 3]], // 4 of the outer f, 3 of the inner one, which f has called
    ["g", 3, ["f", 2, ["f", 2]]],
    ["h", 3, ["g", 2], ["f", 1, ["f", 1]]],
    ["ROOT", 1]]);
});

test("callees and callers of a name count what calls itself once", () => {
  const f = strings.indexOf("f"), g = strings.indexOf("g");
  assert.deepEqual(shown(callees(tree, metric, f)), ["f", 10, ["f", 6, ["g", 2], ["h", 1]]]);
  assert.deepEqual(shown(callers(tree, metric, f)), ["f", 10, ["ROOT", 10]]);
  assert.deepEqual(shown(callees(tree, metric, g)), ["g", 5, ["h", 2]]);
  assert.deepEqual(shown(callers(tree, metric, g)), ["g", 5, ["ROOT", 3], ["f", 2, ["f", 2, ["ROOT", 2]]]]);
});

test("a node that merges frames leads to the largest of them", () => {
  const g = callees(tree, metric, strings.indexOf("g"));
  assert.equal(g.frame[0], 5); // the one below the root has 3
});

test("two profiles have their values side by side, and a side where only one has the frames", () => {
  const compared = {...tree, values: [tree.values[0], Float64Array.from(tree.values[0], (v, i) => (i === 3 ? 0 : v))], side: [0, 0, 0, 2, 0, 0, 0]};
  const graph = callees(compared, {column: 0, old: 1}, strings.indexOf("g"));
  assert.deepEqual([graph.now[0], graph.old[0], graph.side[0]], [5, 3, 0]);
  const above = callers(compared, {column: 0, old: 1}, strings.indexOf("g"));
  assert.deepEqual(shown(above).slice(2).map(([name]) => name), ["ROOT", "f"]);
});

test("a very deep chain has no endless callers, and does not exhaust the stack", () => {
  const count = 2_000, depth = Array.from({length: count}, (_, i) => i);
  const parent = Int32Array.from(depth, (d) => d - 1), end = new Int32Array(count).fill(count);
  const values = [Float64Array.from(depth, (d) => count - d)];
  const graph = bottomUp({count, depth, parent, end, name: depth, kind: depth.map(() => 0), side: null, values}, metric);
  assert.equal(graph.now[0], count);
  assert.ok(graph.count < count * 66);
});

test("bottomUp says where it does not follow all callers", () => {
  const chain = (callers) => {
    let tree = ["leaf", 1];
    for (let i = 0; i < callers; i++) tree = ["f" + i, 1, tree];
    return bottomUp(treeOf(["ROOT", 1, tree]).tree, metric);
  };
  const all = chain(mostCallers), some = chain(mostCallers + 1);
  assert.equal(all.count, some.count);
  assert.equal(isCut(all, 0), false);
  assert.equal(isCut(some, 0), true);
  assert.equal(isCut(some, some.count - 1), true);
  assert.equal(isCut(topDown(tree, metric), 0), false);
});

test("layout places children next to each other, in the order asked for", () => {
  const graph = topDown(tree, metric);
  const {x, width, depths} = layout(graph, "time");
  assert.equal(depths, 4);
  assert.deepEqual([...width], [14, 10, 6, 2, 1, 3, 2]);
  assert.deepEqual([...x], [0, 0, 0, 0, 2, 10, 10]);
  const other = treeOf(["ROOT", 5, ["a", 1, ["c", 1]], ["b", 4]]);
  assert.deepEqual([...layout(topDown(other.tree, metric), "size").x], [0, 4, 4, 0]);
});

test("layout gives a node the room that is needed below it", () => {
  const {tree: less} = treeOf(["ROOT", 2, ["a", 3], ["b", 4]]);
  assert.deepEqual([...layout(topDown(less, metric), "time").width], [7, 3, 4]);
});
