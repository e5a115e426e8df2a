// @ts-check
// The parts of the roofline's plot: scales, grid, names of dots. Nothing here depends on which kernel is chosen.

import {draw} from "./elements.js";
import {fitApart, scaleFor} from "./format.js";
import {label} from "./names.js";
import {state} from "./state.js";

/**
 * placeable reports whether a value has a place on a logarithmic axis. A value that no machine reaches is an error of the profile.
 * @param {number} v
 */
export function placeable(v) {
  return v > 1e-12 && v < 1e30;
}

/** @param {number} share */
export function dotRadius(share) {
  return 4 + 22 * Math.sqrt(Math.max(0, Math.min(1, share)));
}

/**
 * plotScale spans all dots and the ridge, with a margin.
 * @param {Dot[]} dots
 * @param {Roof} roof
 * @param {Ceiling} main
 * @param {number} width
 * @param {number} height
 * @returns {PlotScale}
 */
export function plotScale(dots, roof, main, width, height) {
  const xs = [main.rate / roof.bytes], ys = [main.rate];
  for (const d of dots) {
    xs.push(d.x);
    ys.push(d.y);
    if (placeable(d.x0) && placeable(d.y0)) {
      xs.push(d.x0);
      ys.push(d.y0);
    }
  }
  const x0 = Math.min(...xs) / 2.5, x1 = Math.max(...xs) * 4, y0 = Math.min(...ys) / 3, y1 = Math.max(...ys) * 2.2;
  const lx = Math.log(x1 / x0), ly = Math.log(y1 / y0);
  const w = width - plotMargin.left - plotMargin.right, h = height - plotMargin.top - plotMargin.bottom;
  return {x0, x1, y0, y1, x: (v) => plotMargin.left + (Math.log(v / x0) / lx) * w, y: (v) => plotMargin.top + h - (Math.log(v / y0) / ly) * h};
}

/**
 * @param {PlotScale} scale
 * @param {number} width
 * @param {number} height
 */
export function plotGrid(scale, width, height) {
  const parts = [];
  const bottom = height - plotMargin.bottom;
  for (const [v, major] of logTicks(scale.x0, scale.x1)) {
    parts.push(draw("path", {class: major ? "gridline" : "minor", d: `M${scale.x(v)} ${plotMargin.top}V${bottom}`}));
    if (major) parts.push(draw("text", {x: scale.x(v), y: bottom + 17, "text-anchor": "middle"}, v >= 10000 || v < 0.001 ? v.toExponential(0) : String(Number(v.toPrecision(2)))));
  }
  for (const [v, major] of logTicks(scale.y0, scale.y1)) {
    parts.push(draw("path", {class: major ? "gridline" : "minor", d: `M${plotMargin.left} ${scale.y(v)}H${width - plotMargin.right}`}));
    if (major) parts.push(draw("text", {x: plotMargin.left - 8, y: scale.y(v) + 4, "text-anchor": "end"}, shortRate(v)));
  }
  parts.push(draw("text", {x: width - plotMargin.right, y: height - 8, "text-anchor": "end"}, "arithmetic intensity, flop/B"), draw("text", {x: 8, y: 13}, "flop/s"));
  return parts;
}

/** @param {number} v */
function shortRate(v) {
  const [factor, unit] = scaleFor("flop/s", v);
  return `${Number((v / factor).toPrecision(3))} ${unit.replace("flop/s", "")}`;
}

/**
 * logTicks lists 1 to 9 times the powers of ten; 2 and 5 have numbers too where there are few powers.
 * @param {number} from
 * @param {number} to
 * @returns {[v: number, numbered: boolean][]}
 */
function logTicks(from, to) {
  /** @type {[number, boolean][]} */
  const ticks = [];
  const numbered = to / from > 1000 ? [1] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    for (let i = 1; i < 10; i++) {
      const v = i * 10 ** power;
      if (v >= from && v <= to) ticks.push([v, numbered.includes(i)]);
    }
  }
  return ticks;
}

/**
 * plotLabels names the largest dots, where a name does not run into another one or out of the plot.
 * @param {Dot[]} dots
 * @param {PlotScale} scale
 * @param {number} width
 * @param {Box[]} ceilings
 */
export function plotLabels(dots, scale, width, ceilings) {
  const parts = [], taken = [...ceilings], names = dots.map((d) => label(state.report.flat.name[d.i]));
  for (const d of dots.slice(0, 200)) {
    const r = dotRadius(d.share) * 0.8;
    for (const [x, y] of [[scale.x(d.x), scale.y(d.y)], [scale.x(d.x0), scale.y(d.y0)]]) taken.push({left: x - r, right: x + r, top: y - r, bottom: y + r}); // NaN meets nothing
  }
  for (const [i, d] of dots.slice(0, 40).entries()) {
    if (d.share < 0.01 || parts.length >= 12) break;
    const text = fitApart(names[i], width < 600 ? 20 : 30, names), w = textWidth(text), r = dotRadius(d.share) + 5;
    const x = scale.x(d.x), y = scale.y(d.y);
    const spots = [[x + r, y + 4], [x - r - w, y + 4], [x - w / 2, y - r - 1], [x - w / 2, y + r + 11]];
    const spot = spots.find(([left, base]) => left > plotMargin.left && left + w < width - plotMargin.right &&
      !taken.some((t) => left < t.right && left + w > t.left && base - 11 < t.bottom && base + 3 > t.top));
    if (!spot) continue;
    taken.push({left: spot[0], right: spot[0] + w, top: spot[1] - 11, bottom: spot[1] + 3});
    parts.push(draw("text", {class: "dot-label", x: spot[0], y: spot[1]}, text));
  }
  return parts;
}

/**
 * textWidth is the width of a text of the plot in CSS pixels.
 * @param {string} text
 */
export function textWidth(text) {
  ruler ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** @type {CanvasRenderingContext2D | undefined} */
let ruler;

/**
 * ceilingPlaces lists the boxes in which plotLabels writes nothing: along the ceilings, and around their own names.
 * @param {Roof} roof
 * @param {Ceiling} main
 * @param {PlotScale} scale
 */
export function ceilingPlaces(roof, main, scale) {
  const ridge = Math.min(main.rate / roof.bytes, scale.x1), top = scale.y(main.rate);
  const places = [{left: scale.x(ridge), right: scale.x(scale.x1), top: top - 2, bottom: top + 2}, {left: scale.x(scale.x1) - 170, right: scale.x(scale.x1), top: top - 22, bottom: top}];
  const start = Math.max(scale.x0, scale.y0 / roof.bytes), steps = 60;
  for (let i = 0; i <= steps; i++) {
    const v = start * (ridge / start) ** (i / steps), x = scale.x(v), y = scale.y(v * roof.bytes);
    const named = Math.abs(i / steps - 0.5) < 0.15 ? 16 : 3;
    places.push({left: x - named, right: x + 3, top: y - named, bottom: y + 3});
  }
  return places;
}

export function arrowHead() {
  const path = draw("path", {d: "M0 0 6 3 0 6z", fill: "currentColor"});
  return draw("defs", {}, draw("marker", {id: "arrow", viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto"}, path));
}

export const plotMargin = {left: 64, right: 24, top: 20, bottom: 44};
