// @ts-check
// The roofline: arithmetic intensity against the rate that kernels reach, both logarithmic, below the two ceilings
// of the device. One dot for each kernel; its area is its share of the time.

import {animationFrame} from "./canvas.js";
import {valuesOf} from "./details.js";
import {choice, draw, empty, make} from "./elements.js";
import {counted, percent, quantity} from "./format.js";
import {label} from "./names.js";
import {arrowHead, ceilingPlaces, dotRadius, placeable, plotGrid, plotLabels, plotMargin, plotScale, textWidth} from "./plot.js";
import {frameOfKernel, openFrame, state, touches, watch} from "./state.js";
import {hideTip, showTip} from "./tip.js";

const mostDots = 1500; // further dots would be too small to distinguish

export class Roofline {
  /** @type {Dot[]} kernels without a place on the plot */
  left;

  /** @param {HTMLElement} panel */
  constructor(panel) {
    const {roofs} = state.report.roofline;
    this.roof = 0;
    this.chosen = -1; // row of the flat table
    this.dtype = this.commonType();
    this.draw = animationFrame(() => this.paint());
    this.bar = make("div", {class: "bar"});
    this.stage = make("div", {class: "stage plot"});
    this.details = make("aside", {class: "details", "aria-label": "Kernels outside of the plot and the chosen kernel", tabindex: "0"});
    if (roofs.length > 1) this.bar.append(choice("Device", roofs.map((r, i) => [String(i), r.device]), "0", (i) => this.set({roof: Number(i), dtype: roofs[Number(i)].ceilings[0].dtype})));
    this.typeChoice = make("span");
    this.bar.append(this.typeChoice, make("div", {class: "legend"}, legendDot("compute", "bound by compute"), legendDot("memory", "bound by memory"),
      make("span", {text: "area: share of " + state.metric.label}), state.report.diff && make("span", {text: "dashed: in A"}),
      state.report.columns.some((c) => c.name === "measured") && make("span", {text: "ringed: measured by counters"})));
    panel.append(this.bar, make("div", {class: "split"}, this.stage, this.details));
    new ResizeObserver(() => this.draw()).observe(this.stage);
    this.set({});
    watch((changed) => {
      if (touches(changed, "matches", "theme", "tab", "metric") && state.tab === "roofline") this.draw();
    });
  }

  show() {
    this.draw();
  }

  /** commonType is the type that the profile counts the most operations of. */
  commonType() {
    const {columns, tree, roofline} = state.report;
    const counted = (/** @type {string} */ dtype) => {
      const width = dtype.match(/\d+/)?.[0];
      const c = columns.find((o) => !o.role && (o.name === "flops_" + dtype || o.name === "flops" + width || o.name === `tensor_${dtype}_flops`));
      return c ? tree.values[c.index][0] || 0 : 0;
    };
    const recorded = roofline.roofs[0].ceilings.filter((c) => c.recorded).map((c) => c.dtype);
    return recorded.sort((a, b) => counted(b) - counted(a))[0] ?? roofline.roofs[0].ceilings[0].dtype;
  }

  /** @param {{roof?: number, dtype?: string}} parts */
  set(parts) {
    Object.assign(this, parts);
    const {ceilings} = state.report.roofline.roofs[this.roof];
    this.typeChoice.replaceChildren(choice("Ceiling", ceilings.map((c) => [c.dtype, `${c.dtype}, ${quantity(c.rate, "flop/s")}${c.recorded ? "" : " (not in this profile)"}`]), this.dtype,
      (dtype) => this.set({dtype})));
    this.draw();
  }

  /**
   * dots lists the kernels that have a place, the largest first, so that small ones lie on top.
   * @param {Roof} roof
   * @param {Ceiling} main
   */
  dots(roof, main) {
    const {report, metric} = state, {flat, columns} = report;
    const index = (/** @type {string} */ name, /** @type {string} */ role) => columns.findIndex((c) => c.name === name && (c.role ?? "") === role);
    const of = (/** @type {string} */ role) => ({x: flat.values[index("intensity", role)], y: flat.values[index("flop/s", role)]});
    const now = of(""), before = report.diff ? of("old") : null, bound = columns.find((c) => c.name === "bound" && !c.role);
    const time = flat.values[metric.column], total = report.tree.values[metric.column][0];
    const all = [], ridge = main.rate / roof.bytes;
    for (let i = 0; i < flat.count; i++) {
      all.push({i, x: now.x[i], y: now.y[i], share: time[i] / total || 0, bound: bound ? bound.texts[flat.values[bound.index][i]] ?? "" : now.x[i] < ridge ? "memory" : "compute",
        x0: before ? before.x[i] : NaN, y0: before ? before.y[i] : NaN});
    }
    const placed = all.filter((d) => placeable(d.x) && placeable(d.y)).sort((a, b) => b.share - a.share);
    this.left = all.filter((d) => !placed.includes(d));
    return placed.slice(0, mostDots);
  }

  paint() {
    const width = this.stage.clientWidth, height = this.stage.clientHeight;
    if (state.tab !== "roofline" || width < 50 || height < 50) return;
    const roof = state.report.roofline.roofs[this.roof];
    const main = roof.ceilings.find((c) => c.dtype === this.dtype) ?? roof.ceilings[0];
    const dots = this.dots(roof, main);
    const scale = plotScale(dots, roof, main, width, height);
    const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Roofline of ${roof.device}: ${dots.length} kernels`});
    svg.append(arrowHead(), ...plotGrid(scale, width, height), ...this.ceilings(roof, main, scale));
    const marks = dots.map((d) => this.dot(d, scale));
    svg.append(...marks.flat(), ...plotLabels(dots, scale, width, ceilingPlaces(roof, main, scale)));
    const focused = document.activeElement?.getAttribute("data-kernel");
    this.stage.replaceChildren(svg);
    if (focused) /** @type {SVGElement | null} */ (svg.querySelector(`[data-kernel="${focused}"]`))?.focus();
    if (!dots.length) this.stage.replaceChildren(empty("No kernel to place", "A kernel needs flops, bytes and time. Give it a launch_metadata function that returns them, or measure them with proton run -m counters."));
    this.describe(this.chosen);
  }

  /**
   * ceilings draws the slope of the memory, and the flat tops: of the chosen type, and faintly of those recorded.
   * @param {Roof} roof
   * @param {Ceiling} main
   * @param {PlotScale} scale
   */
  ceilings(roof, main, scale) {
    const parts = [];
    const right = scale.x1, left = scale.x0;
    for (const c of roof.ceilings.filter((o) => o.recorded && o !== main)) {
      const ridge = Math.max(left, c.rate / roof.bytes);
      if (c.rate > scale.y1 || ridge > right) continue;
      parts.push(draw("path", {class: "ceiling other", d: `M${scale.x(ridge)} ${scale.y(c.rate)}H${scale.x(right)}`}),
        draw("text", {class: "ceiling-label other", x: scale.x(right) - 6, y: scale.y(c.rate) - 6, "text-anchor": "end"}, `${c.dtype} ${quantity(c.rate, "flop/s")}`));
    }
    const ridge = main.rate / roof.bytes, start = Math.max(left, scale.y0 / roof.bytes);
    parts.push(draw("path", {class: "ceiling", d: `M${scale.x(start)} ${scale.y(start * roof.bytes)}L${scale.x(Math.min(ridge, right))} ${scale.y(Math.min(ridge, right) * roof.bytes)}H${scale.x(right)}`}));
    parts.push(draw("text", {class: "ceiling-label", x: scale.x(right) - 6, y: scale.y(main.rate) - 8, "text-anchor": "end"}, `${main.dtype} ${quantity(main.rate, "flop/s")}`));
    const middle = Math.sqrt(start * Math.min(ridge, right)), name = `memory ${quantity(roof.bytes, "B/s")}`;
    const steepness = (scale.y(2 * roof.bytes) - scale.y(roof.bytes)) / (scale.x(2) - scale.x(1)), angle = Math.atan(steepness);
    const x = Math.max(scale.x(middle), plotMargin.left + 8 + 0.55 * textWidth(name) * Math.cos(angle) + 12 * Math.abs(Math.sin(angle))); // bold, and not over the axis
    const y = scale.y(middle * roof.bytes) + (x - scale.x(middle)) * steepness;
    parts.push(draw("text", {class: "ceiling-label", x, y: y - 8, "text-anchor": "middle", transform: `rotate(${(angle * 180) / Math.PI} ${x} ${y})`}, name));
    return parts;
  }

  /**
   * @param {Dot} d
   * @param {PlotScale} scale
   */
  dot(d, scale) {
    const {report} = state, name = report.strings[report.flat.name[d.i]];
    const faint = state.matches && !state.matches.names[report.flat.name[d.i]];
    const radius = dotRadius(d.share);
    const parts = [];
    if (placeable(d.x0) && placeable(d.y0)) {
      const a = [scale.x(d.x0), scale.y(d.y0)], b = [scale.x(d.x), scale.y(d.y)];
      parts.push(draw("circle", {class: `point old ${d.bound}`, cx: a[0], cy: a[1], r: radius}));
      if (Math.hypot(a[0] - b[0], a[1] - b[1]) > radius + 6) parts.push(draw("path", {class: "move", d: `M${a}L${b}`}));
    }
    const circle = draw("circle", {class: `point ${d.bound}${measuredPart(d.i) > 0 ? " measured" : ""}${faint ? " faint" : ""}`, cx: scale.x(d.x), cy: scale.y(d.y), r: radius, tabindex: "0", role: "button", "data-kernel": d.i,
      "aria-label": `${name}: ${dotPairs(d).map((p) => p.join(" ")).join(", ")}`});
    circle.addEventListener("pointermove", (e) => showTip(e.clientX, e.clientY, name, dotPairs(d)));
    circle.addEventListener("pointerleave", hideTip);
    circle.addEventListener("focus", () => this.describe(d.i));
    circle.addEventListener("click", () => this.describe(d.i));
    circle.addEventListener("keydown", (e) => {
      if (e.key === "Enter") openFrame(frameOfKernel(report.flat.name[d.i]));
    });
    parts.push(circle);
    return parts;
  }

  /**
   * describe fills the panel: the chosen kernel, or what is not on the plot.
   * @param {number} i
   */
  describe(i) {
    const {report, metric} = state, {flat, strings} = report;
    this.chosen = i;
    for (const c of this.stage.querySelectorAll("[data-kernel]")) c.classList.toggle("chosen", c.getAttribute("data-kernel") === String(i));
    if (i >= 0) {
      this.details.classList.remove("idle");
      this.details.replaceChildren(make("span", {class: "kind", text: "kernel"}), make("h2", {class: "name", text: strings[flat.name[i]]}),
        valuesOf(flat, i),
        make("div", {class: "actions"}, make("button", {type: "button", class: "button", onclick: () => openFrame(frameOfKernel(flat.name[i]))}, "Show in flame graph")));
      return;
    }
    const left = (this.left ?? []).sort((a, b) => b.share - a.share);
    /** @type {HTMLElement[]} */
    const box = [make("h2", {text: "Not on the plot"})];
    if (!left.length) box.push(make("p", {class: "muted", text: "Every kernel has flops and bytes, so all are on the plot. Click a dot for its numbers."}));
    else {
      box.push(make("p", {class: "muted", text: `${counted(left.length, "kernel does", "kernels do")} not have both flops and bytes: ${percent(left.reduce((sum, d) => sum + d.share, 0))} of ${metric.label}.`}));
      const list = make("dl");
      for (const d of left.slice(0, 12)) list.append(make("dt", {class: "name", title: strings[flat.name[d.i]], text: label(flat.name[d.i])}), make("dd", {text: percent(d.share)}));
      box.push(list);
    }
    this.details.classList.toggle("idle", !left.length);
    this.details.replaceChildren(...box);
  }
}

/**
 * measuredPart is the part of a kernel's time in which hardware counters measured its flops and bytes, 0 to 1.
 * @param {number} i
 */
function measuredPart(i) {
  const column = state.report.columns.find((c) => c.name === "measured" && !c.role);
  return column ? state.report.flat.values[column.index][i] / 100 || 0 : 0;
}

/** @param {Dot} d */
function dotPairs(d) {
  const {report, metric} = state, util = report.util >= 0 ? report.flat.values[report.util][d.i] : NaN;
  /** @type {Pair[]} */
  const pairs = [["intensity", quantity(d.x, "flop/B")], ["reached", quantity(d.y, "flop/s")], ["utilisation", percent(util / 100)], ["bound by", d.bound],
    [metric.label, quantity(report.flat.values[metric.column][d.i], metric.unit)], ["share of all", percent(d.share)]];
  if (measuredPart(d.i) > 0) pairs.push(["measured by counters", percent(measuredPart(d.i))]);
  if (placeable(d.y0)) pairs.splice(2, 0, ["reached in A", quantity(d.y0, "flop/s")]);
  return pairs;
}

/**
 * @param {string} kind
 * @param {string} text
 */
function legendDot(kind, text) {
  const dot = make("i");
  dot.style.background = `var(--${kind})`;
  dot.style.borderRadius = "50%";
  return make("span", {}, dot, text);
}
