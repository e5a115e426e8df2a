// @ts-check
// The table: call paths as a tree, or one row for each kernel. Only the rows in sight are elements.

import {animationFrame} from "./canvas.js";
import {dotColour, kinds} from "./colour.js";
import {heading} from "./columns.js";
import {empty, icon, make, say, segments} from "./elements.js";
import {cellText, counted, grouped} from "./format.js";
import {metricChoice} from "./metricchoice.js";
import {label, marked, nameParts, sideName, sideWord} from "./names.js";
import {leadsToMatch} from "./search.js";
import {change, state, watch} from "./state.js";
import {childrenOf, pathOf} from "./tree.js";

const tableRow = 28, tableHead = 34;

export class Table {
  /** @type {HTMLDetailsElement} */
  menu;
  /** @type {HTMLElement} */
  note;
  /** @type {HTMLElement} */
  treeButtons;
  /** @type {HTMLElement} */
  head;
  /** @type {HTMLElement} */
  inner;
  /** @type {HTMLElement} */
  grid;
  /** @type {number[]} those to show, from the top */
  rows;
  /** @type {Record<string, number>} the chosen row of each mode: a frame, and a kernel of the list; -1 for none */
  chosen = {tree: 0, flat: -1};

  /** @param {HTMLElement} panel */
  constructor(panel) {
    const {report} = state;
    this.mode = /** @type {"tree" | "flat"} */ ("tree");
    this.shown = report.columns.filter((c) => c.shown);
    /** @type {Record<string, Sort>} */
    this.sort = {tree: {column: null, down: true}, flat: {column: report.columns[state.metric.column], down: true}};
    this.open = new Uint8Array(report.tree.count);
    /** @type {Map<number, number[]>} children of frames in order, as long as the order stands */
    this.children = new Map();
    this.draw = animationFrame(() => this.paint());
    this.build(panel);
    this.openHotPath();
    this.list();
    watch((changed) => this.changed(changed));
  }

  /** @param {HTMLElement} panel */
  build(panel) {
    this.menu = make("details", {class: "menu"}, make("summary", {class: "button"}, "Columns"), this.menuList());
    this.note = make("span", {class: "muted", "aria-live": "polite"});
    this.treeButtons = make("span", {class: "choice"},
      make("button", {type: "button", class: "button", onclick: () => this.openAll(1)}, "Expand all"),
      make("button", {type: "button", class: "button", onclick: () => this.openAll(0)}, "Collapse all"));
    panel.append(make("div", {class: "bar"},
      segments("Rows", [["tree", "Call tree"], ["flat", "Kernels"]], this.mode, (mode) => this.setMode(/** @type {"tree" | "flat"} */ (mode))),
      metricChoice("Share of"), this.treeButtons, this.note, make("span", {class: "end"}, this.menu)));
    this.head = make("div", {class: "row head", role: "row", "aria-rowindex": "1"});
    this.inner = make("div", {class: "inner", role: "presentation"}, this.head);
    this.grid = make("div", {class: "grid", role: "treegrid", "aria-label": "Frames", tabindex: "0"}, this.inner);
    panel.append(this.grid);
    this.grid.addEventListener("scroll", () => this.draw());
    this.grid.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.grid);
    document.addEventListener("click", (e) => {
      if (!this.menu.contains(/** @type {Node} */ (e.target))) this.menu.open = false;
    });
  }

  menuList() {
    const list = make("div");
    for (const c of state.report.columns) {
      const box = make("input", {type: "checkbox", checked: this.shown.includes(c), onchange: () => {
        this.shown = state.report.columns.filter((o) => (o === c ? box.checked : this.shown.includes(o)));
        this.list();
      }});
      list.append(make("label", {title: c.about ?? ""}, box, c.label));
    }
    return list;
  }

  /** @param {Changed} changed */
  changed(changed) {
    if (changed.has("metric")) {
      this.children.clear();
      this.list();
    }
    if (changed.has("matches")) {
      if (state.matches) this.openMatches(state.matches.frames);
      this.list();
    }
    if (changed.has("node") || (changed.has("tab") && state.tab === "table")) this.reveal(state.node);
    if (changed.has("tab") || changed.has("theme") || changed.has("node")) this.draw();
  }

  show() {
    this.reveal(state.node);
    this.draw();
  }

  /** @param {"tree" | "flat"} mode */
  setMode(mode) {
    this.mode = mode;
    this.treeButtons.hidden = mode !== "tree";
    this.grid.scrollTop = 0;
    this.list();
    const index = this.rows.indexOf(this.chosen[mode]);
    if (index >= 0) this.scrollTo(index);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  /** @returns {Tree} the list of kernels has no places and no kinds */
  get data() {
    return this.mode === "tree" ? state.report.tree : /** @type {Tree} */ (state.report.flat);
  }

  /** openHotPath opens what leads to large parts of the time, as long as all of it fits a screen. */
  openHotPath() {
    const {tree} = state.report, values = tree.values[state.metric.column];
    this.open[0] = 1;
    let rows = 1;
    const queue = [0];
    for (let i = 0; i < queue.length && rows < 30; i++) {
      childrenOf(tree, queue[i], (c) => {
        rows++;
        if (values[c] >= values[0] * 0.05 && tree.end[c] > c + 1) queue.push(c);
      });
      this.open[queue[i]] = 1;
    }
  }

  /** @param {number} open */
  openAll(open) {
    this.open.fill(open);
    this.open[0] = 1;
    this.list();
  }

  /** list finds the rows to show, from the top. */
  list() {
    this.rows = this.mode === "tree" ? this.treeRows() : this.flatRows();
    this.inner.style.height = tableHead + this.rows.length * tableRow + "px"; // now: a caller may scroll before the next frame
    this.fillHead();
    const all = this.data.count;
    this.note.textContent = this.rows.length === all ? counted(all, "row") : `${grouped(this.rows.length)} of ${counted(all, "row")}`;
    this.grid.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.grid.setAttribute("aria-colcount", String(this.shown.length + 1));
    this.draw();
  }

  treeRows() {
    const keep = state.matches && this.keepMatches(state.matches.frames);
    const rows = [], pending = [0];
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      if (keep && !keep[node]) continue;
      rows.push(node);
      if (!this.open[node]) continue;
      const children = this.ordered(node);
      for (let i = children.length - 1; i >= 0; i--) pending.push(children[i]);
    }
    return rows;
  }

  /**
   * keepMatches says which frames match, lead to one that does, or lie below one.
   * @param {Uint8Array} frames those that match
   */
  keepMatches(frames) {
    const {tree} = state.report;
    const keep = new Uint8Array(tree.count), leads = leadsToMatch(tree, frames);
    for (let i = 0; i < tree.count; i++) {
      const below = i > 0 && keep[tree.parent[i]] === 1;
      keep[i] = below || frames[i] ? 1 : leads[i] ? 2 : 0;
    }
    return keep;
  }

  /**
   * openMatches opens what leads to a match.
   * @param {Uint8Array} frames those that match
   */
  openMatches(frames) {
    const {tree} = state.report;
    leadsToMatch(tree, frames).forEach((leads, i) => {
      if (leads) this.open[i] = 1;
    });
  }

  /** @param {number} node */
  ordered(node) {
    const known = this.children.get(node);
    if (known) return known;
    /** @type {number[]} */
    const children = [];
    childrenOf(state.report.tree, node, (c) => children.push(c));
    this.order(children, state.report.tree, this.sort.tree);
    this.children.set(node, children);
    return children;
  }

  flatRows() {
    const {flat} = state.report;
    const rows = [];
    for (let i = 0; i < flat.count; i++) if (!state.matches || state.matches.names[flat.name[i]]) rows.push(i);
    this.order(rows, flat, this.sort.flat);
    return rows;
  }

  /**
   * order sorts rows by a column, or by name; without a value they come last.
   * @param {number[]} rows
   * @param {Rows} data
   * @param {Sort} sort
   */
  order(rows, data, {column, down}) {
    if (column === null) return;
    const sign = down ? -1 : 1;
    if (column === "name" || column.texts) {
      const text = (/** @type {number} */ i) => (column === "name" ? state.report.strings[data.name[i]] : column.texts[data.values[column.index][i]] ?? "");
      rows.sort((a, b) => -sign * text(a).localeCompare(text(b)));
      return;
    }
    const values = data.values[column.index];
    rows.sort((a, b) => Number(Number.isNaN(values[a])) - Number(Number.isNaN(values[b])) || sign * (values[a] - values[b]) || a - b);
  }

  fillHead() {
    const {column, down} = this.sort[this.mode];
    /** @type {[Column | "name", string, string][]} */
    const cells = [["name", this.mode === "tree" ? "Frame" : "Kernel", "first"]];
    for (const c of this.shown) cells.push([c, heading(c), c.texts ? "value words" : "value"]);
    this.head.replaceChildren(...cells.map(([c, text, kind], i) => {
      const sorted = column === c;
      return make("div", {class: kind, role: "columnheader", "aria-colindex": i + 1, title: c === "name" ? "" : c.about ?? "", "aria-sort": sorted ? (down ? "descending" : "ascending") : "none"},
        make("button", {type: "button", onclick: () => this.sortBy(c)}, text, sorted ? (down ? " ▾" : " ▴") : ""));
    }));
    const first = innerWidth < 700 ? "170px" : "minmax(340px, 1fr)";
    this.grid.style.setProperty("--grid-columns", [first, ...this.shown.map((c) => c.width + "px")].join(" "));
    this.inner.style.minWidth = (innerWidth < 700 ? 170 : 340) + this.shown.reduce((sum, c) => sum + c.width, 0) + "px";
  }

  /**
   * sortBy sorts down, then up, and a tree then as it ran.
   * @param {Column | "name"} column
   */
  sortBy(column) {
    const now = this.sort[this.mode];
    if (now.column !== column) this.sort[this.mode] = {column, down: true};
    else if (now.down) this.sort[this.mode] = {column, down: false};
    else this.sort[this.mode] = {column: this.mode === "tree" ? null : column, down: true};
    this.children.clear();
    this.list();
    const s = this.sort[this.mode];
    say(s.column ? `sorted by ${s.column === "name" ? "name" : s.column.label}, ${s.down ? "descending" : "ascending"}` : "in the order in which it ran");
    this.head.querySelectorAll("button")[column === "name" ? 0 : this.shown.indexOf(column) + 1]?.focus();
  }

  paint() {
    if (state.tab !== "table") return;
    const {grid, inner, rows} = this;
    const from = Math.max(0, Math.floor((grid.scrollTop - tableHead) / tableRow) - 6);
    const to = Math.min(rows.length, from + Math.ceil(grid.clientHeight / tableRow) + 14);
    const elements = [this.head];
    for (let i = from; i < to; i++) elements.push(this.rowElement(rows[i], i));
    inner.replaceChildren(...elements);
    if (!rows.length) inner.append(empty("Nothing found", state.matches ? "No frame has all words of the search in its name. a/b finds b below a." : "The profile has no kernels."));
  }

  /**
   * @param {number} at
   * @param {number} index
   */
  rowElement(at, index) {
    const {data} = this, isTree = this.mode === "tree";
    const row = make("div", {class: "row", role: "row", id: `row-${index}`, "aria-rowindex": index + 2, "aria-selected": String(at === this.chosen[this.mode])});
    row.style.top = tableHead + index * tableRow + "px";
    if (isTree) {
      row.setAttribute("aria-level", String(data.depth[at] + 1));
      if (data.end[at] > at + 1) row.setAttribute("aria-expanded", String(this.isOpen(index)));
    }
    row.append(this.nameCell(at, index), ...this.shown.map((c, i) => valueCell(data, at, c, i + 2)));
    row.addEventListener("click", () => this.choose(index));
    if (isTree) row.addEventListener("dblclick", () => this.toggle(index));
    return row;
  }

  /**
   * @param {number} at
   * @param {number} index
   */
  nameCell(at, index) {
    const {data} = this, isTree = this.mode === "tree", name = state.report.strings[data.name[at]];
    const cell = make("div", {class: "first", role: "rowheader", "aria-colindex": "1", title: name});
    if (isTree) {
      cell.style.paddingLeft = 6 + Math.min(data.depth[at], 40) * (innerWidth < 700 ? 8 : 16) + "px";
      cell.append(data.end[at] > at + 1 ? this.twist(index) : make("span", {class: "twist", "aria-hidden": "true"}));
    }
    const dot = make("i", {class: "dot" + (!isTree || data.kind[at] === 2 ? " kernel" : ""), title: kinds[isTree ? data.kind[at] : 2]});
    dot.style.background = dotColour(isTree ? data.kind[at] : 2);
    const side = data.side ? sideName(data.side[at]) : "";
    cell.append(dot, make("span", {class: "name"}, ...nameParts(label(data.name[at]), (part) => marked(part, state.query))));
    if (side) cell.append(make("span", {class: "tag " + (data.side?.[at] === 2 ? "more" : "less"), text: side}));
    return cell;
  }

  /** @param {number} index */
  twist(index) {
    return make("button", {type: "button", class: "twist", tabindex: "-1", "aria-label": this.isOpen(index) ? "Collapse" : "Expand", onclick: (/** @type {Event} */ e) => {
      e.stopPropagation();
      this.toggle(index);
    }}, icon("m5 3 6 5-6 5"));
  }

  /**
   * isOpen reports whether the rows below a row are shown.
   * @param {number} index
   */
  isOpen(index) {
    const {tree} = state.report;
    return index + 1 < this.rows.length && tree.parent[this.rows[index + 1]] === this.rows[index];
  }

  /** @param {number} index */
  toggle(index) {
    const node = this.rows[index];
    this.open[node] = this.isOpen(index) ? 0 : 1;
    this.list();
  }

  /** @param {number} index */
  choose(index) {
    const at = this.rows[index];
    this.chosen[this.mode] = at;
    this.grid.setAttribute("aria-activedescendant", `row-${index}`);
    if (this.mode === "tree") change({node: at});
    this.draw();
  }

  /**
   * reveal opens what leads to a frame and scrolls to it.
   * @param {number} node
   */
  reveal(node) {
    if (this.mode !== "tree") return;
    const {tree} = state.report;
    this.chosen.tree = node;
    const path = pathOf(tree, node).slice(0, -1);
    if (path.some((n) => !this.open[n])) {
      for (const n of path) this.open[n] = 1;
      this.list();
    }
    const index = this.rows.indexOf(node);
    if (index >= 0) this.scrollTo(index);
  }

  /** @param {number} index */
  scrollTo(index) {
    const y = index * tableRow, {grid} = this;
    if (y < grid.scrollTop) grid.scrollTop = y;
    else if (y + tableRow + tableHead > grid.scrollTop + grid.clientHeight) grid.scrollTop = y + tableRow + tableHead - grid.clientHeight;
    this.grid.setAttribute("aria-activedescendant", `row-${index}`);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.target !== this.grid) return;
    const at = this.rows.indexOf(this.chosen[this.mode]), page = Math.max(1, Math.floor(this.grid.clientHeight / tableRow) - 2);
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity}[event.key];
    if (step !== undefined) this.go(Math.max(0, Math.min(this.rows.length - 1, at + step)));
    else if (this.mode === "tree" && at >= 0 && this.treeKey(event.key, at)) this.draw();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {string} key
   * @param {number} at
   */
  treeKey(key, at) {
    const {tree} = state.report, node = this.rows[at], open = this.isOpen(at), inner = tree.end[node] > node + 1;
    if (key === "ArrowRight" && inner && !open) this.toggle(at);
    else if (key === "ArrowRight" && open) this.go(at + 1);
    else if (key === "ArrowLeft" && open) this.toggle(at);
    else if (key === "ArrowLeft" && node > 0) this.go(this.rows.indexOf(tree.parent[node]));
    else if (key === "Enter") change({zoom: node, tab: "flame"});
    else return ["ArrowRight", "ArrowLeft"].includes(key);
    return true;
  }

  /** @param {number} index */
  go(index) {
    if (index < 0 || !this.rows.length) return;
    this.choose(index);
    this.scrollTo(index);
  }
}

/**
 * @param {Rows} data
 * @param {number} at
 * @param {Column} column
 * @param {number} index
 */
function valueCell(data, at, column, index) {
  const v = data.values[column.index][at];
  if (column.texts) return make("div", {class: "value words", role: "gridcell", "aria-colindex": index, text: column.texts[v] ?? ""});
  const [text, unit] = column.role === "ratio" && !Number.isFinite(v) && sideWord(data, at) ? [sideWord(data, at), ""] : cellText(v, column);
  const cell = make("div", {class: "value", role: "gridcell", "aria-colindex": index});
  if (column.role === "share" || column.index === state.metric.delta) cell.append(...shareBar(v, column));
  cell.append(make("span", {}, text, unit ? make("small", {text: " " + unit}) : ""));
  return cell;
}

/**
 * shareBar is a bar behind a number; of changes it says more or less by the sign of the number and its colour.
 * @param {number} v
 * @param {Column} column
 */
function shareBar(v, column) {
  const whole = column.role === "share" ? 100 : column.largest;
  if (!(Math.abs(v) > 0) || !whole) return [];
  const bar = make("i", {class: column.role === "delta" ? (v > 0 ? "more" : "less") : ""});
  bar.style.width = Math.min(100, (Math.abs(v) / whole) * 100) + "%";
  return [bar];
}
