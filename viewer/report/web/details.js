// @ts-check
// What is known of one frame, for the panel next to a picture and for the tip at the pointer.

import {kinds} from "./colour.js";
import {make, td, th} from "./elements.js";
import {missing, percent, quantity, valueText} from "./format.js";
import {isCut, mostCallers} from "./graph.js";
import {label, sideName} from "./names.js";
import {change, state} from "./state.js";
import {childrenOf, pathOf} from "./tree.js";

/**
 * frameDetails describes a frame: kind, name, call path, all values, and where else it can be seen.
 * @param {number} node
 * @param {string} elsewhere view that shows it
 * @param {HTMLElement[]} more buttons
 */
export function frameDetails(node, elsewhere, ...more) {
  const {report} = state, {tree, strings} = report;
  const name = strings[tree.name[node]];
  const box = document.createDocumentFragment();
  box.append(make("span", {class: "kind", text: sideText(node) || kinds[tree.kind[node]]}), make("h2", {class: "name", text: name}));
  box.append(valuesOf(tree, node));
  const path = pathOf(tree, node).slice(0, -1);
  if (path.length) {
    box.append(make("h3", {text: "Called from"}));
    box.append(pathList(path.map((n) => [tree.name[n], () => change({node: n})])));
  }
  const button = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", {type: "button", class: "button", onclick}, text);
  const buttons = [
    elsewhere !== "flame" && button("Show in flame graph", () => change({tab: "flame", zoom: node})),
    elsewhere !== "table" && button("Show in table", () => change({tab: "table"})),
  ];
  box.append(make("div", {class: "actions"}, ...buttons, ...more, copyButton(pathOf(tree, node).map((n) => strings[tree.name[n]]).join("\n"))));
  return box;
}

/**
 * valuesOf lists the share of a row of either table, then all its values.
 * @param {Rows} data
 * @param {number} at
 */
export function valuesOf(data, at) {
  const {metric, report} = state;
  if (report.diff) return changesOf(data, at);
  const share = data.values[metric.column][at] / report.tree.values[metric.column][0];
  const list = make("dl", {}, make("dt", {text: `share of ${metric.label}`}), make("dd", {text: percent(share)}));
  for (const column of report.columns.filter((c) => c.role !== "share")) {
    const text = valueText(data.values[column.index][at], column);
    if (text !== missing) list.append(make("dt", {text: column.label}), make("dd", {text}));
  }
  return list;
}

/**
 * changesOf lists the values of a row in A and B, and their changes. Only three numbers fit side by side, so the name of a metric
 * has a row of its own.
 * @param {Rows} data
 * @param {number} at
 */
function changesOf(data, at) {
  const {columns} = state.report;
  const body = make("tbody");
  for (const old of columns.filter((c) => c.role === "old")) { // followed by the columns of B, the change, and the change in percent
    const [a, b, , ratio] = [0, 1, 2, 3].map((i) => ({v: data.values[old.index + i][at], column: columns[old.index + i]}));
    if (Number.isNaN(a.v) && Number.isNaN(b.v)) continue;
    body.append(make("tr", {}, make("th", {scope: "rowgroup", colspan: "3", text: old.label.replace(/ A$/, "")})),
      make("tr", {}, td(valueText(a.v, a.column)), td(valueText(b.v, b.column)), td(valueText(ratio.v, ratio.column))));
  }
  return make("table", {class: "changes"}, make("thead", {}, make("tr", {}, th("A"), th("B"), th("Δ"))), body);
}

/**
 * pathList shows a call path from the root down, each frame a button.
 * @param {[name: number, onclick: () => void][]} frames
 */
export function pathList(frames) {
  const list = make("div", {class: "crumbs"});
  frames.forEach(([name, onclick], i) => {
    if (i) list.append(make("span", {"aria-hidden": "true", text: "›"}));
    list.append(make("button", {type: "button", class: "name", title: state.report.strings[name], onclick}, label(name)));
  });
  return list;
}

/** @param {string} text */
function copyButton(text) {
  return make("button", {type: "button", class: "button", onclick: (/** @type {any} */ e) => {
    const button = e.currentTarget;
    const copying = navigator.clipboard?.writeText(text) ?? Promise.reject(); // some browsers give files no clipboard
    copying.then(() => {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy call path"), 1500);
    }, () => (button.textContent = "Copying is not allowed here"));
  }}, "Copy call path");
}

/** @param {number} node */
export function sideText(node) {
  const {report} = state;
  return report.tree.side ? sideName(report.tree.side[node]) : "";
}

/**
 * tipPairs lists the values for the tip: the metric of the picture, then times, rates and utilisation.
 * @param {number} node
 */
export function tipPairs(node) {
  const {report, metric} = state;
  const values = report.tree.values;
  /** @type {Pair[]} */
  const pairs = [[metric.label, quantity(values[metric.column][node], metric.unit)]];
  if (metric.old >= 0) {
    pairs[0][0] += " in B";
    pairs.push([`${metric.label} in A`, quantity(values[metric.old][node], metric.unit)],
      ["change", `${quantity(values[metric.delta][node], metric.unit, true)} (${percent(values[metric.ratio][node] / 100, true)})`]);
  } else {
    pairs.push(["share of all", percent(values[metric.column][node] / values[metric.column][0])]);
  }
  for (const c of report.columns) {
    const v = values[c.index][node];
    if (c.tip && c.index !== metric.column && !Number.isNaN(v)) pairs.push([c.label, valueText(v, c)]);
  }
  return pairs;
}

/**
 * nodePairs are the values of a node that merges frames.
 * @param {Graph} graph
 * @param {number} i
 * @returns {Pair[]}
 */
export function nodePairs({now, old}, i) {
  const {metric, report: {tree}} = state;
  if (!old) return [[metric.label, quantity(now[i], metric.unit)], ["share of all", percent(now[i] / tree.values[metric.column][0])]];
  return [[`${metric.label} in B`, quantity(now[i], metric.unit)], [`${metric.label} in A`, quantity(old[i], metric.unit)],
    ["change", `${quantity(now[i] - old[i], metric.unit, true)} (${percent((now[i] - old[i]) / old[i], true)})`]];
}

/**
 * nodeHead begins the description of a node that merges frames: what it is, its name and its values.
 * @param {Graph} graph
 * @param {number} i
 * @param {string} what
 */
function nodeHead(graph, i, what) {
  const box = document.createDocumentFragment();
  box.append(make("span", {class: "kind", text: what}), make("h2", {class: "name", text: state.report.strings[graph.name[i]]}),
    make("dl", {}, ...nodePairs(graph, i).flatMap(([k, v]) => [make("dt", {text: k}), make("dd", {text: v})])));
  return box;
}

/**
 * chainDetails describes a node of the graph that goes from frames with a value of their own up to their callers.
 * @param {Graph} graph
 * @param {number} i
 * @param {HTMLElement[]} buttons
 */
export function chainDetails(graph, i, ...buttons) {
  const chain = pathOf(graph, i).slice(1);
  const what = ["all frames", `own ${state.metric.label}`][graph.depth[i]] ?? "caller";
  const box = nodeHead(graph, i, what);
  if (chain.length > 1) {
    box.append(make("h3", {text: `own ${state.metric.label} of the first, called by the next`}));
    box.append(make("ol", {class: "chain"}, ...chain.map((n) => make("li", {class: "name", text: state.report.strings[graph.name[n]]}))));
  }
  if (isCut(graph, i)) box.append(make("p", {class: "muted", text: `Only the nearest ${mostCallers} callers of each frame are followed: some have more.`}));
  box.append(make("div", {class: "actions"}, ...buttons));
  return box;
}

/**
 * neighbourDetails describes the name in the middle, with its largest callers and callees.
 * @param {Graph} below
 * @param {Graph} above
 * @param {(frame: number) => void} go
 * @param {HTMLElement[]} buttons
 */
export function neighbourDetails(below, above, go, ...buttons) {
  const box = nodeHead(below, 0, "all frames of this name");
  const lists = /** @type {const} */ ([["Called by", above], ["Calls", below]]);
  for (const [title, graph] of lists) {
    const list = make("dl", {class: "neighbours"});
    childrenOf(graph, 0, (c) => {
      if (list.children.length >= 24) return;
      list.append(make("dt", {}, make("button", {type: "button", class: "link name", title: state.report.strings[graph.name[c]], onclick: () => go(graph.frame[c])}, label(graph.name[c]))),
        make("dd", {text: quantity(graph.now[c], state.metric.unit)}));
    });
    if (list.children.length) box.append(make("h3", {text: title}), list);
  }
  box.append(make("div", {class: "actions"}, ...buttons));
  return box;
}
