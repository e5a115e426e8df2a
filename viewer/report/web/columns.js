// @ts-check
// Columns of the table: their unit, their width and their heading.

import {scaleFor} from "./format.js";

/**
 * prepareColumn gives a column the unit and width that suit its largest value.
 * @param {Column} column
 * @param {PageData} report
 */
export function prepareColumn(column, {tree, flat}) {
  let largest = 0, whole = true;
  for (const values of [tree.values[column.index], flat.values[column.index]]) {
    for (const v of values) {
      if (!Number.isFinite(v)) continue;
      if (Math.abs(v) > largest) largest = Math.abs(v);
      if (whole && !Number.isInteger(v)) whole = false;
    }
  }
  column.largest = largest;
  column.scale = column.unit === "%" ? [1, "%"] : scaleFor(column.unit, largest);
  const top = largest / column.scale[0];
  column.decimals = whole && column.scale[0] === 1 ? 0 : top >= 1000 ? 1 : top >= 100 ? 2 : 3;
  column.width = Math.max(column.role === "share" ? 110 : 78, Math.min(170, heading(column).length * 6.8 + 26));
}

/** @param {Column} column */
export function heading(column) {
  const unit = column.scale?.[1] ?? "";
  if (unit.endsWith(column.label.replace("byte/s", "B/s"))) return unit; // "Tflop/s" says what it is
  if (unit === "%") return column.label.includes("%") ? column.label : `${column.label} %`;
  return unit ? `${column.label} (${unit})` : column.label;
}
