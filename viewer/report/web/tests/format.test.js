import assert from "node:assert/strict";
import {test} from "node:test";
import {cellText, counted, fitApart, fitMiddle, grouped, number, percent, quantity, scaleFor, valueText} from "../format.js";

// Go's figures_test.go compares number, quantity and percent with package internal/figures; here is what only the page does.

test("number writes an exponent where six decimals would show nothing", () => {
  for (const [value, text] of [[1e-7, "1.000e-7"], [1e-6, "0.000001"], [1e15, "1.000e+15"], [0, "0"]]) assert.equal(number(value), text);
});

test("grouped and counted have commas between thousands", () => {
  for (const [value, text] of [[999, "999"], [1000, "1,000"], [-1234567, "-1,234,567"], ["1234.5678", "1,234.5678"]]) assert.equal(grouped(value), text);
  assert.equal(counted(1, "launch", "launches"), "1 launch");
  assert.equal(counted(12000, "frame"), "12,000 frames");
});

test("quantity writes whole numbers with commas, and changes with their sign", () => {
  assert.equal(quantity(1234567, ""), "1,234,567");
  assert.equal(quantity(-2048, "B", true), "-2.048 kB");
  assert.equal(quantity(5, "ns", true), "+5 ns");
  assert.equal(quantity(0, "ns", true), "0 ns");
  assert.equal(quantity(7, "widgets"), "7 widgets");
  assert.deepEqual(scaleFor("B/s", 0), [1, "B/s"]);
});

test("valueText writes words, shares and quantities", () => {
  assert.equal(valueText(1, {texts: ["memory", "compute"]}), "compute");
  assert.equal(valueText(NaN, {texts: ["memory"]}), "-");
  assert.equal(valueText(12.5, {unit: "%"}), "12.5%");
  assert.equal(valueText(Infinity, {unit: "%", signed: true}), "new");
  assert.equal(valueText(2e9, {unit: "ns"}), "2.000 s");
});

test("cellText keeps the unit of the column where the number allows that", () => {
  const column = {unit: "ns", scale: [1e6, "ms"], decimals: 3};
  assert.deepEqual(cellText(1_234_567_891, column), ["1,234.568", ""]);
  assert.deepEqual(cellText(900, column), ["900", "ns"]);
  assert.deepEqual(cellText(0, column), ["0", ""]);
  assert.deepEqual(cellText(NaN, column), ["-", ""]);
  assert.deepEqual(cellText(1_500_000, {...column, signed: true}), ["+1.500", ""]);
  assert.deepEqual(cellText(20e6, {unit: "ns", scale: [1e9, "s"], decimals: 1}), ["20.00", "ms"]);
  assert.deepEqual(cellText(0.01, {unit: "%", scale: [1, "%"], decimals: 1}), ["<0.1", ""]);
  assert.deepEqual(cellText(100, {unit: "%", scale: [1, "%"], decimals: 1}), ["100.0", ""]);
});

test("percentiles have no digits that are not known", () => {
  const column = {unit: "ns", scale: [1e3, "us"], decimals: 3, percentile: true};
  assert.deepEqual([12600, 160_000, 42047, 20_040].map((v) => cellText(v, column)[0]), ["12.6\u2007\u2007", "160\u2008\u2007\u2007\u2007", "42.047", "20.04\u2007"]);
  assert.deepEqual([12600, 160_000, 42047, 900, 1e6].map((v) => valueText(v, column)), ["12.6 us", "160 us", "42.05 us", "900 ns", "1 ms"]);
});

test("fitMiddle keeps both ends of a name", () => {
  assert.equal(fitMiddle("short", 10), "short");
  assert.equal(fitMiddle("matmul_kernel", 2), "");
  assert.equal(fitMiddle("matmul_kernel", 8), "matmul_…");
  const fitted = fitMiddle("matmul_kernel_128x256x64_warps_8_stages_3", 24);
  assert.equal(fitted.length, 24);
  assert.ok(fitted.startsWith("matmul") && fitted.endsWith("stages_3"), fitted);
});

test("fitApart keeps the launch parameters that tell a name from others", () => {
  const names = [[8192, 2, 5], [512, 8, 3], [1024, 8, 3]].map(([grid, warps, stages]) => `matmul_<grid:${grid}x1x1>_<cluster:1x1x1>_<warps:${warps}>_<stages:${stages}>`);
  assert.equal(fitApart(names[0], 36, [...names, "other_<warps:1>"]), "matmul_<grid:8192x1x1>_<warps:2>");
  assert.equal(fitApart(names[0], 30, names), "matmul_<grid:8192x1x1>");
  assert.equal(fitApart(names[0], 100, names), names[0]);
  assert.equal(fitApart(names[0], 24, [names[0]]), fitMiddle(names[0], 24));
  assert.equal(fitApart("softmax_kernel_of_many_words", 24, names), fitMiddle("softmax_kernel_of_many_words", 24));
});
