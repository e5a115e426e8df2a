import assert from "node:assert/strict";
import {test} from "node:test";
import {busiestPart, busyBetween, firstAfter, laneBusy, timeTicks} from "../slices.js";

/** rowOf makes a row of slices from pairs of start and duration. */
function rowOf(...slices) {
  const busy = [0];
  for (const [, duration] of slices) busy.push(busy.at(-1) + duration);
  return {count: slices.length, start: slices.map(([s]) => s), duration: slices.map(([, d]) => d), busy, works: true};
}

test("firstAfter bisects", () => {
  assert.equal(firstAfter([1, 3, 3, 5], 3), 3);
  assert.equal(firstAfter([1, 3, 3, 5], 0), 0);
  assert.equal(firstAfter([1, 3, 3, 5], 9), 4);
});

test("busyBetween counts the part of a slice that lies in the range", () => {
  const row = rowOf([10, 10], [30, 5]);
  assert.equal(busyBetween(row, 0, 40), 15);
  assert.equal(busyBetween(row, 15, 32), 7);
  assert.equal(busyBetween(row, 20, 30), 0);
});

test("laneBusy of a stream adds its rows, of a thread it takes the outermost", () => {
  const rows = [rowOf([0, 50]), rowOf([0, 30])];
  assert.equal(laneBusy(rows, {kind: 2, row: 0, rows: 2}, 0, 100), 0.8);
  assert.equal(laneBusy(rows, {kind: 1, row: 0, rows: 2}, 0, 100), 0.5);
});

test("busiestPart leaves out what is far away, and nothing where slices are everywhere", () => {
  const many = Array.from({length: 20}, (_, i) => [1_000_000 + i * 10, 5]);
  const part = busiestPart({rows: [rowOf([0, 5], ...many)], span: 1_000_200});
  assert.ok(part.from > 999_000 && part.to > 1_000_150, JSON.stringify(part));
  assert.equal(busiestPart({rows: [rowOf(...Array.from({length: 20}, (_, i) => [i * 10, 5]))], span: 200}), null);
});

test("timeTicks are round numbers with their unit", () => {
  const ticks = timeTicks({from: 0, to: 1000}, 1100);
  assert.deepEqual(ticks.at.slice(0, 3), [0, 100, 200]);
  assert.equal(ticks.text(200), "0.2 us");
});
