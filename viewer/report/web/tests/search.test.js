import assert from "node:assert/strict";
import {test} from "node:test";
import {countMatches, find, findNames, leadsToMatch, partsOf, wordsOf} from "../search.js";
import {treeOf} from "./trees.js";

// ROOT calls forward and backward, both call matmul; forward's calls copy. The last frame has a slash in its name.
const {tree, strings} = treeOf(["ROOT", 10, ["forward", 6, ["matmul", 5, ["copy", 1]]], ["backward", 4, ["layer 1", 4, ["matmul", 3], ["src/train.py:7@step", 1]]]]);
const values = tree.values[0];

/** found lists the names, with their parents', of the frames that a query finds. */
function found(query) {
  const {frames} = find({strings, tree}, query);
  return [...frames.keys()].filter((i) => frames[i]).map((i) => (i ? strings[tree.name[tree.parent[i]]] + ">" : "") + strings[tree.name[i]]);
}

test("every word must be in the name, in any order and case", () => {
  const names = ["flash_fwd_kernel", "flash_bwd_kernel", "FWD pass"];
  assert.deepEqual([...findNames(names, wordsOf("Kernel fwd"))], [1, 0, 0]);
  assert.deepEqual([...findNames(names, wordsOf("fwd"))], [1, 0, 1]);
  assert.equal(find({strings, tree}, "  "), null);
  assert.equal(find({strings, tree}, " / "), null);
});

test("parts between slashes are searched along the call path", () => {
  assert.deepEqual(found("matmul"), ["forward>matmul", "layer 1>matmul"]);
  assert.deepEqual(found("forward/matmul"), ["forward>matmul"]);
  assert.deepEqual(found("back/MAT"), ["layer 1>matmul"]); // not directly below
  assert.deepEqual(found("backward / 1 layer / matmul"), ["layer 1>matmul"]);
  assert.deepEqual(found("matmul/forward"), []); // not upwards
  assert.deepEqual(found("layer/backward/matmul"), []); // in their order
  assert.deepEqual(found("matmul/matmul"), []); // a frame is not above itself
  assert.deepEqual(found("forward/"), ["ROOT>forward"]);
  assert.deepEqual(partsOf("a b / c"), [["a", "b"], ["c"]]);
});

test("a name with slashes is found as it is written", () => {
  assert.deepEqual(found("src/train"), ["layer 1>src/train.py:7@step"]);
  assert.deepEqual(found("backward/train.py"), ["layer 1>src/train.py:7@step"]);
});

test("names of a search along the path are those of the frames that it finds", () => {
  const {names, paths} = find({strings, tree}, "forward/matmul");
  assert.deepEqual(strings.filter((_, i) => names[i]), ["matmul"]);
  assert.equal(paths, null);
});

test("call paths of a timeline are searched like those of the tree", () => {
  const at = (name) => strings.indexOf(name);
  const timeline = {pathName: ["ROOT", "forward", "matmul", "backward", "matmul"].map(at), pathParent: [0, 1, 2, 1, 4]};
  assert.deepEqual([...find({strings, tree, timeline}, "backward/matmul").paths], [0, 0, 0, 0, 1]);
  assert.equal(find({strings, tree, timeline}, "matmul").paths, null);
});

test("countMatches adds up the outermost matches only", () => {
  assert.deepEqual(countMatches(tree, find({strings, tree}, "ma").frames, values), {count: 2, share: 0.8});
  assert.deepEqual(countMatches(tree, find({strings, tree}, "o").frames, values), {count: 3, share: 1}); // ROOT, forward, copy
});

test("leadsToMatch marks the callers of a match", () => {
  assert.deepEqual([...leadsToMatch(tree, find({strings, tree}, "copy").frames)], [1, 1, 1, 0, 0, 0, 0, 0]);
});
