// @ts-check
// Numbers as people read them: four significant digits and a unit.

const si = ["", "k", "M", "G", "T", "P", "E"];

/** @type {Record<string, Unit[]>} */
const scales = {
  ns: [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]],
  B: si.map((p, i) => [10 ** (3 * i), p + "B"]),
  "B/s": si.map((p, i) => [10 ** (3 * i), p + "B/s"]),
  flop: si.map((p, i) => [10 ** (3 * i), p + "flop"]),
  "flop/s": si.map((p, i) => [10 ** (3 * i), p + "flop/s"]),
  "flop/B": [[1, "flop/B"]],
  "%": [[1, "%"]],
  "": [[1, ""]],
};

/**
 * scaleFor picks the unit in which a number of that size reads best.
 * @param {string} unit
 * @param {number} size
 */
export function scaleFor(unit, size) {
  const all = scales[unit] ?? [[1, unit]];
  let best = all[0];
  for (const s of all) if (Math.abs(size) >= s[0] * 0.9995) best = s;
  return best;
}

/**
 * digits prints four significant digits, and counts as they are.
 * @param {number} v
 * @param {boolean} [count]
 */
export function digits(v, count = true) {
  const size = Math.abs(v);
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "–" : v > 0 ? "∞" : "−∞";
  if (size === 0) return "0";
  if (size >= 1e15 || size < 1e-4) return v.toExponential(2).replace("-", "−");
  const text = count && Number.isInteger(v) ? v.toFixed(0) : size >= 1000 ? v.toFixed(0) : v.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.1 ? 3 : 5);
  const [whole, fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",").replace("-", "−");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/**
 * quantity prints a value of a column with its unit.
 * @param {number} v
 * @param {string} unit
 * @param {boolean} [signed]
 */
export function quantity(v, unit, signed = false) {
  if (Number.isNaN(v)) return "–";
  const [factor, label] = scaleFor(unit, v);
  const sign = signed && v > 0 ? "+" : "";
  return sign + digits(v / factor, factor === 1) + (label === "%" ? " %" : label ? " " + label : "");
}

/**
 * valueText prints a value of a column: words, a share, or a number with its unit.
 * @param {number} v
 * @param {Pick<Column, "texts" | "unit" | "signed">} column
 */
export function valueText(v, column) {
  if (column.texts) return column.texts[v] ?? "–";
  return column.unit === "%" ? percent(v / 100, column.signed) : quantity(v, column.unit, column.signed);
}

/**
 * percent prints a share, "<0.1 %" for what would look like nothing.
 * @param {number} share
 * @param {boolean} [signed]
 */
export function percent(share, signed = false) {
  if (Number.isNaN(share)) return "–";
  if (!Number.isFinite(share)) return share > 0 ? "+∞ %" : "−∞ %";
  const v = share * 100, size = Math.abs(v);
  if (v !== 0 && size < 0.05) return (v < 0 ? "−" : signed ? "+" : "") + "<0.1 %";
  return (v < 0 ? "−" : signed && v > 0 ? "+" : "") + size.toFixed(size >= 1000 ? 0 : 1) + " %";
}

/**
 * cellText prints a value in the unit of its column; what is too small for it brings its own.
 * @param {number} v
 * @param {Pick<Column, "unit" | "signed" | "scale" | "decimals">} column
 */
export function cellText(v, column) {
  if (Number.isNaN(v)) return ["–", ""];
  const [factor] = column.scale;
  const scaled = v / factor;
  const sign = column.signed && v > 0 ? "+" : "";
  if (v !== 0 && Math.abs(scaled) < 0.001 && factor > 1) {
    const [small, smallLabel] = scaleFor(column.unit, v);
    return [sign + digits(v / small), smallLabel];
  }
  if (Number.isInteger(v) && factor === 1 && column.unit !== "%") return [sign + digits(v), ""];
  if (!Number.isFinite(v) || Math.abs(scaled) >= 1e6) return [sign + digits(scaled), ""];
  const decimals = column.unit === "%" ? 1 : column.decimals;
  if (Math.abs(scaled) < 0.5 * 10 ** -decimals) return [v > 0 && column.unit === "%" && !column.signed ? "<0.1" : "0", ""];
  return [sign + scaled.toFixed(decimals).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",").replace("-", "−"), ""];
}

/**
 * fitMiddle shortens a text in its middle: kernels of one name differ in the launch parameters at its end.
 * @param {string} text
 * @param {number} letters
 */
export function fitMiddle(text, letters) {
  if (text.length <= letters) return text;
  if (letters < 3) return "";
  if (letters < 14) return text.slice(0, letters - 1) + "…"; // two ends of a few letters each say nothing
  const tail = Math.ceil((letters - 1) * 0.6);
  return text.slice(0, letters - 1 - tail) + "…" + text.slice(text.length - tail);
}
