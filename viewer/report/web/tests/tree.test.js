import assert from "node:assert/strict";
import {test} from "node:test";
import {childrenOf, findFrame, largestFrame, pathOf} from "../tree.js";
import {treeOf} from "./trees.js";

// ROOT calls forward and backward, both call matmul; forward's calls copy.
const {tree, strings} = treeOf(["ROOT", 10, ["forward", 6, ["matmul", 5, ["copy", 1]]], ["backward", 4, ["matmul", 4]]]);
const values = tree.values[0];
const name = (node) => strings[tree.name[node]];

test("pathOf lists the frames from the root down", () => {
  assert.deepEqual(pathOf(tree, 3).map(name), ["ROOT", "forward", "matmul", "copy"]);
});

test("childrenOf visits only what a frame calls itself", () => {
  const found = [];
  childrenOf(tree, 0, (c) => found.push(name(c)));
  assert.deepEqual(found, ["forward", "backward"]);
});

test("findFrame follows a call path", () => {
  const index = (...path) => path.map((p) => strings.indexOf(p));
  assert.equal(findFrame(tree, index("ROOT", "backward", "matmul")), 5);
  assert.equal(findFrame(tree, index("ROOT", "matmul")), -1);
  assert.equal(findFrame(tree, []), -1);
});

test("largestFrame takes the frame of a name that has most", () => {
  assert.equal(largestFrame(tree, values, strings.indexOf("matmul")), 2);
  assert.equal(largestFrame(tree, values, 99), -1);
});
