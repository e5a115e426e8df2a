// @ts-check
// Counters of the timeline: an amount of bytes over time, as an area. Each column of pixels shows the highest value of its time.

import {css} from "./colour.js";
import {quantity} from "./format.js";
import {firstAfter} from "./slices.js";

export const counterHeight = 44;
const block = 256; // points whose highest value is known, so that a column costs little however many points it has

/**
 * highest is the largest value that a counter has in a span; 0 before its first point.
 * @param {Counter} counter
 * @param {number} from
 * @param {number} to
 */
export function highest(counter, from, to) {
  const {at, value} = counter;
  counter.blocks ??= blocksOf(value);
  const end = firstAfter(at, to);
  let i = Math.max(0, firstAfter(at, from) - 1), most = 0; // the value at `from` stands since the point before it
  if (end === 0) return 0;
  while (i < end) {
    if (i % block === 0 && i + block <= end) {
      most = Math.max(most, counter.blocks[i / block]);
      i += block;
    } else most = Math.max(most, value[i++]);
  }
  return most;
}

/** @param {Numbers} value */
function blocksOf(value) {
  const blocks = new Float64Array(Math.ceil(value.length / block));
  for (let i = 0; i < value.length; i++) blocks[Math.floor(i / block)] = Math.max(blocks[Math.floor(i / block)], value[i]);
  return blocks;
}

/**
 * counterTitle says what a counter's lane shows.
 * @param {Counter} counter
 * @param {Span} view
 */
export function counterTitle(counter, view) {
  const most = highest(counter, view.from, view.to);
  if (most === counter.most) return `at most ${quantity(most, "B")}`;
  return `at most ${quantity(most, "B")} in sight, ${quantity(counter.most, "B")} in all`;
}

/**
 * paintCounter draws a counter from y on; the full height is its highest value of all.
 * @param {CanvasRenderingContext2D} context
 * @param {Counter} counter
 * @param {Span} view
 * @param {number} y
 * @param {number} width
 */
export function paintCounter(context, counter, view, y, width) {
  const perPixel = (view.to - view.from) / width;
  context.fillStyle = css.accent;
  context.globalAlpha = 0.6;
  for (let x = 0; x < width; x++) {
    const share = counter.most ? highest(counter, view.from + x * perPixel, view.from + (x + 1) * perPixel) / counter.most : 0;
    context.fillRect(x, y + (1 - share) * counterHeight, 1, share * counterHeight);
  }
  context.globalAlpha = 1;
}
