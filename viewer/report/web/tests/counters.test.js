import assert from "node:assert/strict";
import {test} from "node:test";
import {counterTitle, highest} from "../counters.js";

test("highest finds the largest value of a span, and the one that stands before it", () => {
  const counter = {at: [10, 20, 30], value: [5, 1, 3]};
  assert.equal(highest(counter, 0, 9), 0);
  assert.equal(highest(counter, 12, 15), 5);
  assert.equal(highest(counter, 20, 25), 1);
  assert.equal(highest(counter, 25, 100), 3);
  assert.equal(highest(counter, 0, 100), 5);
});

test("highest agrees with a search of all points", () => {
  const at = [], value = [];
  for (let i = 0; i < 3000; i++) at.push(i * 3), value.push((i * 7919) % 10007);
  const counter = {at, value};
  for (let from = 0; from < 9000; from += 777) {
    for (const length of [0, 1, 100, 5000]) {
      const seen = value.filter((_, i) => at[i] <= from + length && (i + 1 === at.length || at[i + 1] > from));
      assert.equal(highest(counter, from, from + length), Math.max(...seen));
    }
  }
});

test("the title names the highest value in sight, and of all if that is another", () => {
  const counter = {at: [10, 20, 30], value: [5e9, 1e9, 3e9], most: 5e9};
  assert.equal(counterTitle(counter, {from: 0, to: 100}), "at most 5.000 GB");
  assert.equal(counterTitle(counter, {from: 25, to: 100}), "at most 3.000 GB in sight, 5.000 GB in all");
});
