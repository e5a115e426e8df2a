// @ts-check
// The page as a whole: tabs, search, theme, keys. A new tab is one more entry in the list of views.

import {prepareColumn} from "./columns.js";
import {readReport} from "./data.js";
import {byID, make, within} from "./elements.js";
import {Flame} from "./flame.js";
import {counted, percent} from "./format.js";
import {openHelp} from "./help.js";
import {Idle} from "./idle.js";
import {Inside} from "./inside.js";
import {IR} from "./ir.js";
import {Launches} from "./launches.js";
import {Roofline} from "./roofline.js";
import {countMatches, find} from "./search.js";
import {Source} from "./source.js";
import {change, state, watch} from "./state.js";
import {deviceNames, startText, Summary} from "./summary.js";
import {Table} from "./table.js";
import {applyTheme, nextTheme, storedTheme} from "./theme.js";
import {Timeline} from "./timeline.js";
import {hideTip} from "./tip.js";

/**
 * profiled says whether there is a profile; a page may be of a trace alone.
 * @param {PageData} report
 */
function profiled(report) {
  return report.metrics.length > 0;
}

/** @type {{id: string, name: string, make: (panel: HTMLElement) => View, there: (report: PageData) => boolean}[]} */
const views = [
  {id: "summary", name: "Summary", make: (panel) => new Summary(panel), there: profiled},
  {id: "flame", name: "Flame graph", make: (panel) => new Flame(panel), there: profiled},
  {id: "table", name: "Table", make: (panel) => new Table(panel), there: profiled},
  {id: "roofline", name: "Roofline", make: (panel) => new Roofline(panel), there: (report) => Boolean(report.roofline)},
  {id: "timeline", name: "Timeline", make: (panel) => new Timeline(panel), there: (report) => Boolean(report.timeline)},
  {id: "idle", name: "Idle", make: (panel) => new Idle(panel), there: (report) => Boolean(report.idle)},
  {id: "inside", name: "Inside", make: (panel) => new Inside(panel), there: (report) => Boolean(report.inside)},
  {id: "launches", name: "Launches", make: (panel) => new Launches(panel), there: (report) => report.launches?.kernels.length > 0},
  {id: "ir", name: "IR", make: (panel) => new IR(panel), there: (report) => report.ir?.kernels.length > 0},
  {id: "source", name: "Source", make: (panel) => new Source(panel), there: (report) => report.source?.kernels.length > 0},
];

/** @type {Record<string, View>} */
const made = {};

async function main() {
  const data = byID("data");
  state.report = await readReport(data);
  data.remove();
  state.metric = state.report.metrics[0]; // undefined on a page of a trace alone
  if (!state.metric) /** @type {HTMLInputElement} */ (byID("search")).placeholder = "Search lines";
  applyTheme(storedTheme());
  for (const c of state.report.columns) prepareColumn(c, state.report);
  byID("subtitle").textContent = subtitle(state.report);
  buildTabs();
  listenToSearch();
  document.addEventListener("keydown", globalKey);
  byID("theme").addEventListener("click", nextTheme);
  byID("help-button").addEventListener("click", openHelp);
  addEventListener("hashchange", () => showTab(location.hash.slice(1)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(state.theme));
  watch((changed) => {
    if (changed.has("tab")) showTab(state.tab);
    if (changed.has("metric")) showFound();
  });
  showTab(location.hash.slice(1) || "summary");
  document.documentElement.dataset.ready = "";
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("ready")));
}

/** @param {PageData} report */
function subtitle(report) {
  const parts = [];
  if (report.diff) parts.push(`A: ${report.files[0].name}`, `B: ${report.files[1].name}`);
  const {info, devices} = report.files[report.files.length - 1];
  if (devices?.length) parts.push(deviceNames(devices));
  if (info.replay) parts.push((info.synthetic ? "replay of a synthetic recording: " : "replay of ") + info.replay); // its host and start are not those of the run
  else if (info.host) parts.push(info.host);
  if (info.rank) parts.push(`rank ${info.rank}${info.world ? ` of ${info.world}` : ""}${info.requeue ? ` after requeue ${info.requeue}` : ""}${info.restart ? ` after restart ${info.restart}` : ""}`);
  else if (info.ranks) parts.push(`ranks ${info.ranks}`);
  if (info.launcher) parts.push(info.launcher);
  if (info.start && !info.replay) parts.push(startText(info.start));
  return parts.length ? parts.join(" · ") : "Proton report";
}

function buildTabs() {
  const bar = byID("tabs"), main = byID("main");
  for (const view of views.filter((v) => v.there(state.report))) {
    bar.append(make("button", {type: "button", role: "tab", id: "tab-" + view.id, "aria-controls": "panel-" + view.id, "aria-selected": "false", tabindex: "-1",
      onclick: () => change({tab: view.id})}, view.name));
    main.append(make("section", {role: "tabpanel", id: "panel-" + view.id, "aria-labelledby": "tab-" + view.id, hidden: true}));
  }
  bar.addEventListener("keydown", (e) => {
    const all = within(bar, "button"), at = all.findIndex((tab) => tab === document.activeElement);
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1}[e.key];
    if (to === undefined) return;
    const tab = all[(to + all.length) % all.length];
    tab.focus();
    tab.click();
    e.preventDefault();
  });
}

/**
 * showTab shows a view and makes it when it is shown for the first time.
 * @param {string} id
 */
function showTab(id) {
  const there = views.filter((v) => v.there(state.report)), view = there.find((v) => v.id === id) ?? there[0];
  for (const tab of within(byID("tabs"), "button")) {
    const chosen = tab.id === "tab-" + view.id;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) tab.scrollIntoView({block: "nearest", inline: "nearest"});
    byID(tab.id.replace("tab-", "panel-")).hidden = !chosen;
  }
  hideTip();
  state.tab = view.id;
  keepInAddress(view.id);
  made[view.id] ??= view.make(byID("panel-" + view.id));
  made[view.id].show();
}

/**
 * keepInAddress lets a copied address lead to the view. A page within a notebook has no address of its own, which browsers refuse to change.
 * @param {string} id
 */
function keepInAddress(id) {
  if (location.protocol !== "about:" && location.hash.slice(1) !== id) history.replaceState(null, "", "#" + id);
}

function listenToSearch() {
  const input = /** @type {HTMLInputElement} */ (byID("search"));
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(input.value), 60);
  });
  input.addEventListener("keydown", (e) => {
    if (e.key === "Enter") {
      search(input.value);
      nextMatch();
    } else if (e.key === "Escape") {
      input.value = "";
      search("");
      input.blur();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  });
}

/** @param {string} query */
function search(query) {
  if (query === state.query) return;
  change({query, matches: find(state.report, query)});
  showFound();
}

function showFound() {
  const {report, matches, metric} = state;
  const box = byID("found");
  if (!matches || !metric) return (box.textContent = "");
  const {count, share} = countMatches(report.tree, matches.frames, report.tree.values[metric.column]);
  box.textContent = count ? `${counted(count, "frame")}, ${percent(share)}` : "nothing found";
}

/** nextMatch goes to the next frame that the search has found, in the view that is shown. */
function nextMatch() {
  if (!state.matches) return;
  const view = made[state.tab];
  if (view.nextMatch) return view.nextMatch();
  const {tree} = state.report;
  for (let step = 1; step <= tree.count; step++) {
    const node = (state.node + step) % tree.count;
    if (!state.matches.frames[node]) continue;
    if (["summary", "roofline", "launches"].includes(state.tab)) change({tab: "flame"});
    if (state.tab === "flame") made.flame.choose?.(node);
    else change({node});
    return;
  }
}

/** @param {KeyboardEvent} event */
function globalKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /** @type {HTMLDialogElement} */ (byID("help")).open) return;
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
  const tabs = within(byID("tabs"), "button");
  if (event.key === "/") byID("search").focus();
  else if (event.key === "?") openHelp();
  else if (event.key === "t") nextTheme();
  else if (event.key >= "1" && event.key <= String(tabs.length)) {
    const tab = tabs[Number(event.key) - 1];
    tab.click();
    tab.focus();
  } else return;
  event.preventDefault();
}

main().catch((error) => {
  byID("main").replaceChildren(make("p", {class: "notice", text: `This report cannot be shown: ${error.message}`}));
  throw error;
});
