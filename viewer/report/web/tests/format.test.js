import assert from "node:assert/strict";
import {test} from "node:test";
import {cellText, digits, fitMiddle, percent, quantity, scaleFor, valueText} from "../format.js";

test("digits prints four significant digits, and counts as they are", () => {
  for (const [value, text] of [[0, "0"], [1234567, "1,234,567"], [1234.5, "1,235"], [123.45, "123.5"], [12.345, "12.35"], [1.2345, "1.234"],
    [0.012345, "0.01235"], [0.00001, "1.00e−5"], [-3, "−3"], [NaN, "–"], [Infinity, "∞"], [-Infinity, "−∞"], [1e15, "1.00e+15"]]) {
    assert.equal(digits(value), text, String(value));
  }
});

test("quantity picks the unit in which a number reads best", () => {
  assert.equal(quantity(1_500_000, "ns"), "1.500 ms");
  assert.equal(quantity(999.96, "ns"), "1.000 µs"); // not 1000 ns
  assert.equal(quantity(3e12, "flop/s"), "3.000 Tflop/s");
  assert.equal(quantity(-2048, "B", true), "−2.048 kB");
  assert.equal(quantity(5, "ns", true), "+5 ns");
  assert.equal(quantity(7, "widgets"), "7 widgets");
  assert.deepEqual(scaleFor("B/s", 0), [1, "B/s"]);
});

test("percent never prints something as nothing", () => {
  for (const [share, signed, text] of [[0, false, "0.0 %"], [0.0001, false, "<0.1 %"], [-0.0001, true, "−<0.1 %"], [0.5, true, "+50.0 %"], [12, false, "1200 %"],
    [Infinity, true, "+∞ %"], [NaN, false, "–"]]) {
    assert.equal(percent(share, signed), text);
  }
});

test("valueText prints words, shares and quantities", () => {
  assert.equal(valueText(1, {texts: ["memory", "compute"]}), "compute");
  assert.equal(valueText(NaN, {texts: ["memory"]}), "–");
  assert.equal(valueText(12.5, {unit: "%"}), "12.5 %");
  assert.equal(valueText(2e9, {unit: "ns"}), "2.000 s");
});

test("cellText keeps the unit of the column where the number allows that", () => {
  const column = {unit: "ns", scale: [1e6, "ms"], decimals: 3};
  assert.deepEqual(cellText(1_234_567_891, column), ["1,234.568", ""]);
  assert.deepEqual(cellText(900, column), ["900", "ns"]);
  assert.deepEqual(cellText(0, column), ["0", ""]);
  assert.deepEqual(cellText(NaN, column), ["–", ""]);
  assert.deepEqual(cellText(0.01, {unit: "%", scale: [1, "%"], decimals: 1}), ["<0.1", ""]);
  assert.deepEqual(cellText(100, {unit: "%", scale: [1, "%"], decimals: 1}), ["100.0", ""]);
});

test("fitMiddle keeps both ends of a name", () => {
  assert.equal(fitMiddle("short", 10), "short");
  assert.equal(fitMiddle("matmul_kernel", 2), "");
  assert.equal(fitMiddle("matmul_kernel", 8), "matmul_…");
  const fitted = fitMiddle("matmul_kernel_128x256x64_warps_8_stages_3", 24);
  assert.equal(fitted.length, 24);
  assert.ok(fitted.startsWith("matmul") && fitted.endsWith("stages_3"), fitted);
});
