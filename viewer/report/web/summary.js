// @ts-check
// The summary: what there is, what is large, and where it ran.

import {make, td, th} from "./elements.js";
import {counted, grouped, number, percent, quantity, valueText} from "./format.js";
import {label, nameParts, sideWord} from "./names.js";
import {laneBusy} from "./slices.js";
import {change, frameOfKernel, state, watch} from "./state.js";

export class Summary {
  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.page = make("div", {class: "page"});
    panel.append(this.page);
    this.fill();
    watch((changed) => {
      if (changed.has("metric")) this.fill();
    });
  }

  show() {}

  fill() {
    const {report} = state;
    this.page.replaceChildren(
      make("h2", {class: "unseen"}, "Summary"),
      report.diff ? diffTiles() : tiles(),
      ...(report.diff ? [changesCard()] : [kernelsCard()]),
      make("div", {class: "columns"}, ...report.files.map(fileCard)),
      ...(report.notes.length ? [notesCard()] : []));
  }
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} [text]
 */
function tile(name, value, text = "") {
  const [number, ...unit] = value.split(" ");
  return make("div", {class: "tile"}, make("dt", {text: name}), make("dd", {}, number, " ", make("small", {text: unit.join(" ")})), text && make("p", {text}));
}

/** @param {string} name */
function rootValue(name) {
  const {report} = state;
  const c = report.columns.find((o) => o.name === name && !o.role);
  return c ? report.tree.values[c.index][0] : NaN;
}

function tiles() {
  const {report, metric} = state, {tree, flat} = report;
  const box = make("dl", {class: "tiles"});
  const launches = report.launched;
  const copies = metric.label === "GPU time" && launches > 0 && rootValue("count") > launches ? ", copies and fills included" : "";
  box.append(tile(metric.label, quantity(tree.values[metric.column][0], metric.unit), `over ${counted(tree.count, "frame")}${copies}`));
  if (launches > 0) box.append(tile("Kernel launches", grouped(launches), counted(flat.count, "different kernel")));
  else box.append(tile("Kernels", grouped(flat.count)));
  if (report.util >= 0) box.append(utilTile());
  const devices = report.files[0].devices ?? [];
  if (devices.length) box.append(tile("Devices", grouped(devices.length), deviceNames(devices)));
  if (report.timeline) box.append(...timelineTiles(report.timeline));
  return box;
}

function utilTile() {
  const util = rootValue("util");
  return tile("Utilisation", percent(util / 100), Number.isNaN(util) ? "not known" : "of the roofline");
}

/** @param {TimelineData} timeline */
function timelineTiles(timeline) {
  const streams = timeline.lanes.filter((l) => l.kind === 2);
  const all = [tile("Wall time", quantity(timeline.span, "ns"), counted(timeline.rows.reduce((n, r) => n + r.count, 0), "slice"))];
  if (streams.length) {
    const busy = Math.max(...streams.map((l) => laneBusy(timeline.rows, l, 0, timeline.span)));
    all.push(tile("Busiest stream", percent(busy), "of the wall time"));
  }
  return all;
}

/** @param {Device[]} devices */
export function deviceNames(devices) {
  const names = devices.map((d) => d.name || d.arch || d.type);
  return [...new Set(names)].join(", ");
}

/** kernelsCard lists the kernels that take the most. */
function kernelsCard() {
  const {report, metric} = state, {flat, tree} = report;
  if (!flat.count) return make("section", {class: "card"}, make("header", {}, make("h2", {text: "Kernels"})), make("p", {text: "The profile has no kernels."}));
  const values = flat.values[metric.column], total = tree.values[metric.column][0];
  const all = Array.from({length: flat.count}, (_, i) => i).sort((a, b) => (values[b] || 0) - (values[a] || 0)), order = all.slice(0, 12);
  const extra = report.columns.filter((c) => c.shown && !c.role && c.index !== metric.column && c.name !== "cpu_time");
  const head = make("tr", {}, make("th", {class: "wide", scope: "col", text: "Kernel"}), th(metric.label), th("share"), ...extra.map((c) => th(c.label)));
  const body = make("tbody", {}, ...order.map((i) => make("tr", {},
    make("td", {class: "wide"}, kernelLink(i), share(values[i] / total)),
    td(quantity(values[i], metric.unit)), td(percent(values[i] / total)),
    ...extra.map((c) => td(valueText(flat.values[c.index][i], c))))));
  const part = (/** @type {number[]} */ of) => of.reduce((sum, i) => sum + (values[i] || 0), 0) / total;
  const note = [all.length > order.length && `${order.length} of ${grouped(all.length)}, ${percent(part(order))} of ${metric.label}`,
    part(all) < 0.995 && `all kernels have ${percent(part(all))} of ${metric.label}, other frames, such as memcpy, the rest`].filter(Boolean).join("; ");
  return make("section", {class: "card"},
    make("header", {}, make("h2", {text: "Top kernels"}), make("span", {class: "muted", text: note})),
    make("div", {class: "scroll"}, make("table", {class: "plain"}, make("thead", {}, head), body)));
}

/** @param {number} part */
function share(part) {
  const bar = make("i");
  bar.style.width = Math.max(0, Math.min(1, part || 0)) * 100 + "%";
  return make("span", {class: "share", "aria-hidden": "true"}, bar);
}

/**
 * kernelLink leads to the largest frame of a kernel.
 * @param {number} i
 */
function kernelLink(i) {
  const {report} = state, name = report.strings[report.flat.name[i]];
  return make("button", {type: "button", class: "link name", title: name, onclick: () => {
    const node = frameOfKernel(report.flat.name[i]);
    if (node >= 0) change({node, zoom: 0, tab: "flame"});
  }}, ...nameParts(label(report.flat.name[i])));
}

function diffTiles() {
  const {report, metric} = state, {values, side, count} = report.tree;
  const box = make("dl", {class: "tiles"});
  const delta = values[metric.delta][0], ratio = values[metric.ratio][0] / 100;
  box.append(tile(`${metric.label} in A`, quantity(values[metric.old][0], metric.unit)), tile(`${metric.label} in B`, quantity(values[metric.column][0], metric.unit)));
  const changed = tile("Change, B − A", quantity(delta, metric.unit, true), percent(ratio, true));
  changed.classList.add(delta > 0 ? "more" : "less");
  box.append(changed);
  let gone = 0, added = 0;
  for (let i = 0; i < count; i++) {
    if (side?.[i] === 1) gone++;
    if (side?.[i] === 2) added++;
  }
  box.append(tile("Frames only in A", grouped(gone)), tile("Frames only in B", grouped(added)));
  return box;
}

/** changesCard lists the kernels that changed the most. */
function changesCard() {
  const {report, metric} = state, {flat} = report;
  const delta = flat.values[metric.delta];
  const by = (/** @type {number} */ sign) => Array.from({length: flat.count}, (_, i) => i).filter((i) => delta[i] * sign > 0).sort((a, b) => sign * (delta[b] - delta[a])).slice(0, 8);
  const largest = Math.max(...[...by(1), ...by(-1)].map((i) => Math.abs(delta[i])), 0);
  return make("div", {class: "columns"},
    changesTable("More in B", by(1), largest, "No kernel has more."), changesTable("Less in B", by(-1), largest, "No kernel has less."));
}

/**
 * @param {string} title
 * @param {number[]} order
 * @param {number} largest
 * @param {string} none
 */
function changesTable(title, order, largest, none) {
  const {report, metric} = state, {flat} = report;
  if (!order.length) return make("section", {class: "card"}, make("header", {}, make("h2", {text: title})), make("p", {text: none}));
  const rows = order.map((i) => {
    const d = flat.values[metric.delta][i], kind = d > 0 ? "more" : "less";
    return make("tr", {}, make("td", {class: "wide"}, kernelLink(i), share(Math.abs(d) / largest)),
      td(quantity(d, metric.unit, true), kind), td(sideWord(flat, i) || percent(flat.values[metric.ratio][i] / 100, true), kind));
  });
  return make("section", {class: "card"}, make("header", {}, make("h2", {text: title})), make("div", {class: "scroll"},
    make("table", {class: "plain"}, make("thead", {}, make("tr", {}, make("th", {class: "wide", scope: "col", text: "Kernel"}), th(metric.label), th("change"))), make("tbody", {}, ...rows))));
}

/**
 * @param {ProfileFile} file
 * @param {number} i
 */
function fileCard(file, i) {
  const list = make("dl", {class: "facts"});
  const add = (/** @type {string} */ key, /** @type {string} */ value) => value && list.append(make("dt", {text: key}), make("dd", {text: value}));
  add("file", file.name);
  for (const d of file.devices ?? []) {
    add(`device ${d.id}`, [d.type, d.arch, d.sms && counted(d.sms, "multiprocessor"), d.clock && `${number(d.clock / 1e6)} GHz`,
      d.memory && `memory ${number(d.memory / 1e6)} GHz × ${d.bus} bit`].filter(Boolean).join(" · "));
  }
  for (const key of Object.keys(file.info ?? {}).sort()) add(key, key === "start" || key === "end" ? startText(file.info[key]) : file.info[key]);
  add("report by", state.report.made);
  return make("section", {class: "card"}, make("header", {}, make("h2", {text: state.report.diff ? `Run ${"AB"[i]}` : "Run"})), list);
}

/**
 * startText writes ns since 1970 as a time, in UTC, so that a report reads the same everywhere.
 * @param {string} ns
 */
export function startText(ns) {
  const date = new Date(Number(ns) / 1e6);
  return Number.isNaN(date.getTime()) ? ns : date.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

function notesCard() {
  return make("section", {class: "card"}, make("header", {}, make("h2", {text: "Notes"})),
    make("ul", {class: "notes"}, ...state.report.notes.map((text) => make("li", {text}))));
}
