// @ts-check
// Numbers as people read them. They are written as package internal/figures writes them; figures_test.go compares the two. The
// page adds commas to whole numbers, and an exponent to numbers that four digits and six decimals would show as 0.

export const missing = "-"; // where there is no value, and where it is not finite

/**
 * prefixed lists the units of a quantity with decimal prefixes.
 * @param {string} unit
 * @param {string} prefixes from the smallest unit to the largest, " " for none
 */
function prefixed(unit, prefixes) {
  return [...prefixes].map((p, i) => /** @type {Unit} */ ([1000 ** i, p.trim() + unit]));
}

/** @type {Record<string, Unit[]>} */
const scales = {
  ns: [[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"]],
  B: prefixed("B", " kMGTP"),
  "B/s": prefixed("B/s", " kMGT"),
  flop: prefixed("flop", " kMGTPE"),
  "flop/s": prefixed("flop/s", " kMGTP"),
};

/**
 * scaleFor finds the largest unit of which a number has at least one.
 * @param {string} unit
 * @param {number} size
 */
export function scaleFor(unit, size) {
  const all = scales[unit] ?? [[1, unit]];
  let best = all[0];
  for (const u of all) if (Math.abs(size) / u[0] >= 0.99995) best = u; // 999.996 us are written as 1.000 ms
  return best;
}

/**
 * number writes a number with four significant digits and at most six decimals.
 * @param {number} v
 */
export function number(v) {
  if (!Number.isFinite(v)) return missing;
  const size = Math.abs(v);
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return v.toExponential(3);
  let power = size > 0 ? Math.floor(Math.log10(size) + 1e-9) : 3;
  if (size >= 9.9995 * 10 ** power) power++; // 999.96 is rounded to 1000
  return v.toFixed(Math.min(Math.max(3 - power, 0), 6));
}

/**
 * grouped writes a number with commas between thousands: a count of things, or one that has been rounded.
 * @param {number | string} v
 */
export function grouped(v) {
  const [whole, ...fraction] = String(v).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
}

/**
 * counted writes a number of things: 1 launch, 12,000 launches.
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function counted(n, one, many = one + "s") {
  return n === 1 ? `1 ${one}` : `${grouped(n)} ${many}`;
}

/**
 * sign puts a plus before a number that is above 0 as it is written.
 * @param {string} text
 */
function sign(text) {
  return text[0] !== "-" && /[1-9]/.test(text.split(" ")[0]) ? "+" + text : text;
}

/**
 * quantity writes a value with the unit that suits it. Whole numbers of the smallest unit have no decimals.
 * @param {number} v
 * @param {string} unit
 * @param {boolean} [signed]
 */
export function quantity(v, unit, signed = false) {
  if (!Number.isFinite(v)) return missing;
  const [factor, label] = scaleFor(unit, v);
  const text = `${factor === 1 && Number.isInteger(v) ? grouped(v) : number(v / factor)} ${label}`.trimEnd();
  return signed ? sign(text) : text;
}

/**
 * valueText writes a value of a column: words, a share, or a number with its unit.
 * @param {number} v
 * @param {Pick<Column, "texts" | "unit" | "signed" | "percentile">} column
 */
export function valueText(v, column) {
  if (column.texts) return column.texts[v] ?? missing;
  const text = column.unit === "%" ? percent(v / 100, column.signed) : quantity(v, column.unit, column.signed);
  return column.percentile ? text.replace(endingZeros, "") : text;
}

// Zeros at the end of decimals, with the point if nothing is between.
const endingZeros = /\.0+(?=\D|$)|(?<=\.\d*)0+(?=\D|$)/;

/**
 * percent writes a share, or a change with its sign. A small share is not written as 0, and a change from 0 is "new".
 * @param {number} share
 * @param {boolean} [signed]
 */
export function percent(share, signed = false) {
  if (signed && Math.abs(share) === Infinity) return "new";
  if (!Number.isFinite(share)) return missing;
  if (!signed && share > 0 && share < 0.0005) return "<0.1%";
  const text = places(share * 100, 1) + "%";
  return signed ? sign(text) : text;
}

/**
 * places writes a number with some decimals. One that rounds to 0 has no sign.
 * @param {number} v
 * @param {number} decimals
 */
function places(v, decimals) {
  return v.toFixed(decimals).replace(/^-(0\.?0*)$/, "$1");
}

/**
 * cellText writes a value in the unit of its column, and a value that is too small for that in a unit of its own.
 * @param {number} v
 * @param {Pick<Column, "unit" | "role" | "signed" | "scale" | "decimals" | "percentile">} column
 */
export function cellText(v, column) {
  if (column.unit === "%") return [percent(v / 100, column.signed).replace("%", ""), ""];
  if (!Number.isFinite(v)) return [missing, ""];
  const plus = column.signed ? sign : String;
  const [factor, label] = column.scale, scaled = v / factor;
  if (v === 0 || (factor === 1 && Number.isInteger(v))) return [plus(grouped(v)), ""];
  if (Math.abs(scaled) >= Math.max(0.001, 0.5 * 10 ** -column.decimals)) {
    const text = plus(grouped(places(scaled, column.decimals)));
    return [column.percentile ? text.replace(endingZeros, (zeros) => zeros.replaceAll("0", "\u2007").replace(".", "\u2008")) : text, ""];
  }
  const own = quantity(v, column.unit, column.signed).split(" ");
  return [own[0], own[1] === label ? "" : own[1] ?? ""];
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

/**
 * fitApart shortens a name to the launch parameters in which it differs from others of its kernel: those with the most values, as many as fit.
 * @param {string} text
 * @param {number} letters
 * @param {string[]} others
 */
export function fitApart(text, letters, others) {
  const parameter = /_<(\w+):([^>]*)>/g, base = text.replace(parameter, "");
  if (text.length <= letters || base === text) return fitMiddle(text, letters);
  /** @type {Map<string, Set<string>>} */
  const values = new Map();
  for (const other of new Set(others)) {
    if (other.replace(parameter, "") !== base) continue;
    for (const [, key, value] of other.matchAll(parameter)) values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  const own = [...text.matchAll(parameter)].filter(([, key]) => (values.get(key)?.size ?? 0) > 1);
  own.sort(([, a], [, b]) => (values.get(b)?.size ?? 0) - (values.get(a)?.size ?? 0));
  let short = base;
  for (const [part] of own) if (short.length + part.length <= letters) short += part;
  return short === base ? fitMiddle(text, letters) : short;
}
