// @ts-check
// Slices over time: what is in sight, how busy a lane is, where ticks go. Slices of a row do not overlap and lie in order, so
// that bisection finds them.

import {scaleFor} from "./format.js";

/**
 * firstAfter finds the first of a sorted array that is larger, not before from.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 * @param {number} [from]
 */
export function firstAfter(sorted, value, from = 0) {
  let low = from, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * busyBetween is how much of a range of time the slices of a row cover.
 * @param {Slices} row
 * @param {number} from
 * @param {number} to
 */
export function busyBetween(row, from, to) {
  const until = (/** @type {number} */ t) => {
    const i = firstAfter(row.start, t);
    return i === 0 ? 0 : row.busy[i - 1] + Math.min(row.duration[i - 1], t - row.start[i - 1]);
  };
  return until(to) - until(from);
}

/**
 * laneBusy is the share of a range of time in which a lane works.
 * @param {Slices[]} rows
 * @param {Lane} lane
 * @param {number} from
 * @param {number} to
 */
export function laneBusy(rows, lane, from, to) {
  let sum = 0;
  for (const row of rows.slice(lane.row, lane.row + lane.rows).filter((r) => r.works || lane.kind !== 2)) {
    sum += busyBetween(row, from, to);
    if (lane.kind !== 2) break; // what is called counts for its caller
  }
  return Math.min(1, sum / (to - from || 1));
}

/**
 * overallBusy is the share of each pixel's time in which one of the lanes works.
 * @param {TimelineData} timeline
 * @param {Lane[]} lanes
 * @param {number} width
 */
export function overallBusy(timeline, lanes, width) {
  const share = new Float64Array(width);
  for (const lane of lanes) {
    for (let x = 0; x < width; x++) {
      const from = (x / width) * timeline.span, to = ((x + 1) / width) * timeline.span;
      share[x] = Math.min(1, share[x] + laneBusy(timeline.rows, lane, from, to));
    }
  }
  return share;
}

/**
 * busiestPart is the shortest stretch with nine tenths of all slices if that is less than a quarter of the time, else null: a
 * timeline that is nearly empty opens where something happens.
 * @param {Pick<TimelineData, "rows" | "span">} timeline
 */
export function busiestPart({rows, span}) {
  const starts = Float64Array.from(rows.flatMap((r) => Array.from(r.start))).sort();
  const many = Math.ceil(starts.length * 0.9);
  let best = -1;
  for (let i = 0; i + many <= starts.length; i++) {
    if (best < 0 || starts[i + many - 1] - starts[i] < starts[best + many - 1] - starts[best]) best = i;
  }
  if (best < 0 || starts.length < 4) return null;
  const from = starts[best], to = starts[best + many - 1], margin = Math.max(20, (to - from) * 0.05);
  return to - from < span / 4 ? {from: Math.max(0, from - margin), to: Math.min(span, to + margin)} : null;
}

/**
 * timeTicks places ticks at 1, 2 or 5 times a power of ten, a hundred pixels or more apart.
 * @param {Span} span
 * @param {number} width
 */
export function timeTicks({from, to}, width) {
  const rough = ((to - from) * 110) / width, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? rough;
  const at = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) at.push(t);
  const [factor, unit] = scaleFor("ns", Math.max(Math.abs(from), Math.abs(to)));
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9));
  return {at, text: (/** @type {number} */ t) => `${(t / factor).toFixed(decimals)} ${unit}`};
}
