// @ts-check
// What is known of one frame, for the panel next to a picture and for the tip at the pointer.

import {kinds} from "./colour.js";
import {make, td, th} from "./elements.js";
import {percent, quantity, valueText} from "./format.js";
import {label, sideName} from "./names.js";
import {change, state} from "./state.js";
import {pathOf} from "./tree.js";

/** frameDetails describes a frame: kind, name, call path, all values, and where else it can be seen. */
export function frameDetails(node, elsewhere) {
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
  const buttons = [["flame", "Show in flame graph", () => change({tab: "flame", zoom: node})], ["table", "Show in table", () => change({tab: "table"})]]
    .filter(([tab]) => tab !== elsewhere)
    .map(([, text, onclick]) => make("button", {type: "button", class: "button", onclick}, text));
  box.append(make("div", {class: "actions"}, ...buttons, copyButton(pathOf(tree, node).map((n) => strings[tree.name[n]]).join("\n"))));
  return box;
}

/** valuesOf lists all values of a row of either table: its share of the whole, then what it has. */
export function valuesOf(data, at) {
  const {metric, report} = state;
  if (report.diff) return changesOf(data, at);
  const share = data.values[metric.column][at] / report.tree.values[metric.column][0];
  const list = make("dl", {}, make("dt", {text: `share of ${metric.label}`}), make("dd", {text: percent(share)}));
  for (const column of report.columns.filter((c) => c.role !== "share")) {
    const text = valueText(data.values[column.index][at], column);
    if (text !== "–") list.append(make("dt", {text: column.label}), make("dd", {text}));
  }
  return list;
}

/** changesOf lists, of two profiles, what each has and by how much that changed. Three numbers are all that fits side by side, so
 * the name of the metric has a row of its own. */
function changesOf(data, at) {
  const {columns} = state.report;
  const body = make("tbody");
  for (const old of columns.filter((c) => c.role === "old")) { // followed by the columns of B, the change, and the change in percent
    const [a, b, , ratio] = [0, 1, 2, 3].map((i) => [data.values[old.index + i][at], columns[old.index + i]]);
    if (Number.isNaN(a[0]) && Number.isNaN(b[0])) continue;
    const change = Number.isFinite(ratio[0]) ? valueText(...ratio) : "–";
    body.append(make("tr", {}, make("th", {scope: "rowgroup", colspan: "3", text: old.label.replace(/ A$/, "")})),
      make("tr", {}, ...[valueText(...a), valueText(...b), change].map((text) => td(text))));
  }
  return make("table", {class: "changes"}, make("thead", {}, make("tr", {}, th("A"), th("B"), th("Δ"))), body);
}

/** pathList shows a call path from the root down, each frame a button. */
export function pathList(frames) {
  const list = make("div", {class: "crumbs"});
  frames.forEach(([name, onclick], i) => {
    if (i) list.append(make("span", {"aria-hidden": "true", text: "›"}));
    list.append(make("button", {type: "button", class: "name", title: state.report.strings[name], onclick}, label(name)));
  });
  return list;
}

function copyButton(text) {
  return make("button", {type: "button", class: "button", onclick: (e) => {
    const button = e.currentTarget;
    const copying = navigator.clipboard?.writeText(text) ?? Promise.reject(); // some browsers give files no clipboard
    copying.then(() => {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy call path"), 1500);
    }, () => (button.textContent = "Copying is not allowed here"));
  }}, "Copy call path");
}

export function sideText(node) {
  const {report} = state;
  return report.tree.side ? sideName(report.tree.side[node]) : "";
}

/** tipPairs are the values worth a look at first: what rules the picture, then times, rates and utilisation. */
export function tipPairs(node) {
  const {report, metric} = state;
  const values = report.tree.values;
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
