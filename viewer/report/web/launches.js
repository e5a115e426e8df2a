// @ts-check
// The launches of a traced run: how long each took, by what its kernel was compiled for and by its arguments.

import {make, td, th} from "./elements.js";
import {counted, grouped, missing, percent, quantity} from "./format.js";
import {change, frameOfKernel, state} from "./state.js";

/** @typedef {[name: string, text: (r: LaunchRow) => string, tone?: (r: LaunchRow) => string]} LaunchColumn a heading, and what each row has */

/** @param {(LaunchColumn | false)[]} columns */
function present(columns) {
  return columns.filter((c) => c !== false);
}

/** @param {number} n */
function launches(n) {
  return counted(n, "launch", "launches");
}

export class Launches {
  /** @param {HTMLElement} panel */
  constructor(panel) {
    const {kernels, more} = state.report.launches;
    const page = make("div", {class: "page launches"}, make("h2", {class: "unseen"}, "Launches"), ...kernels.map((k) => this.card(k)));
    if (more) page.append(make("p", {class: "muted", text: `${counted(more, "more kernel")} took less time`}));
    panel.append(page);
  }

  show() {}

  /** @param {LaunchKernel} kernel */
  card(kernel) {
    const {rows} = kernel, columns = state.report.diff ? this.comparedColumns(rows) : this.columns(kernel);
    const head = make("tr", {}, make("th", {class: "wide", scope: "col", text: state.report.diff ? "Arguments" : "Compiled for, arguments"}), ...columns.map(([name]) => th(name)));
    const body = make("tbody", {}, ...rows.map((r) => make("tr", {class: r.kind ? "kind-row" : "group-row"},
      make("td", {class: "wide"}, make("span", {class: "name", text: r.name || missing}), r.about ? make("span", {class: "about", title: r.about, text: r.about}) : null),
      ...columns.map(([, text, tone]) => td(text(r), tone?.(r))))));
    return make("section", {class: "card"},
      make("header", {}, make("h2", {}, this.link(kernel.name)), make("span", {class: "muted", text: state.report.diff ? this.comparedSummary(kernel) : this.summary(kernel)})),
      make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": `Launches of ${kernel.name}`}, make("table", {class: "plain"}, make("thead", {}, head), body)));
  }

  /** @param {LaunchKernel} kernel */
  columns(kernel) {
    const {rows} = kernel, timed = kernel.ns > 0;
    const has = (/** @type {keyof LaunchRow} */ name) => rows.some((r) => r[name]);
    return present([
      ["launches", (r) => grouped(r.count) + (timed && !r.ns ? " traced" : "")],
      timed && ["time", (r) => this.time(r.ns)],
      timed && ["of the kernel", (r) => (r.ns ? percent(r.ns / kernel.ns) : "")],
      timed && ["per launch", (r) => this.time(r.avg)],
      has("min") && ["shortest", (r) => this.time(r.min)],
      has("max") && ["longest", (r) => this.time(r.max)],
      has("bytes") && ["bytes", (r) => this.rate(r, "bytes", "B/s")],
      has("flops") && ["operations", (r) => this.rate(r, "flops", "flop/s")],
      has("roof") && ["roof", (r) => (r.roof ? `${percent(r.roof)} ${r.bound}` : "")],
    ]);
  }

  /**
   * comparedColumns are the columns of A and of B, and the change of the time per launch.
   * @param {LaunchRow[]} rows
   */
  comparedColumns(rows) {
    const timed = rows.some((r) => r.ns || r.old.ns), count = (/** @type {number} */ n) => (n ? grouped(n) : "");
    return present([
      ["launches A", (r) => count(r.old.count)],
      ["launches B", (r) => count(r.count)],
      timed && ["time A", (r) => this.time(r.old.ns)],
      timed && ["time B", (r) => this.time(r.ns)],
      timed && ["per launch A", (r) => this.time(r.old.avg)],
      timed && ["per launch B", (r) => this.time(r.avg)],
      timed && ["Δ per launch", (r) => this.change(r), (r) => (r.avg && r.old.avg ? (r.avg > r.old.avg ? "more" : "less") : "muted")],
    ]);
  }

  /** @param {LaunchRow} row */
  change(row) {
    if (row.avg && row.old.avg) return percent(row.avg / row.old.avg - 1, true);
    return !row.count ? "only in A" : !row.old.count ? "only in B" : "";
  }

  /** @param {LaunchKernel} kernel */
  comparedSummary({count, ns, old}) {
    const side = (/** @type {number} */ n, /** @type {number} */ time) => (time ? `${launches(n)} in ${quantity(time, "ns")}` : n ? `${launches(n)} in the trace` : "none");
    return `${side(old.count, old.ns)} → ${side(count, ns)}`;
  }

  /** @param {number | undefined} ns */
  time(ns) {
    return ns ? quantity(ns, "ns") : "";
  }

  /**
   * rate marks a rate that is computed from the counts of the trace: what the kernel really moves may be less.
   * @param {LaunchRow} row
   * @param {"bytes" | "flops"} name
   * @param {string} unit
   */
  rate(row, name, unit) {
    return row[name] ? quantity(row[name], unit) + (row.counted ? " *" : "") : "";
  }

  /** @param {LaunchKernel} kernel */
  summary({count, ns, rows}) {
    const all = state.report.columns.find((c) => c.name === "time" && !c.role), total = all ? state.report.tree.values[all.index][0] : 0;
    return [
      ns ? `${launches(count)} in ${quantity(ns, "ns")}${total ? `, ${percent(ns / total)} of all` : ""}` : `${launches(count)} in the trace`,
      rows.some((r) => r.counted) ? "* counted in the trace" : "",
    ].filter(Boolean).join(" · ");
  }

  /**
   * link leads to the kernel's largest frame, where it has one.
   * @param {string} name
   */
  link(name) {
    const at = state.report.strings.indexOf(name), node = at < 0 ? -1 : frameOfKernel(at);
    if (node < 0) return make("span", {class: "name", text: name});
    return make("button", {type: "button", class: "link name", onclick: () => change({node, zoom: 0, tab: "flame"})}, name);
  }
}
