// @ts-check
// The flame graph, drawn on a canvas. A frame is as wide as its share of the metric. It has three shapes: the call tree with the root
// on top; bottom up, where below each frame that takes time itself stand its callers; and around one name, with callers above it
// and callees below.

import {animationFrame, prepareCanvas, reducedMotion} from "./canvas.js";
import {css} from "./colour.js";
import {chainDetails, frameDetails, neighbourDetails, nodePairs, pathList, sideText, tipPairs} from "./details.js";
import {choice, make, say, within} from "./elements.js";
import {flameLegend} from "./flamecolour.js";
import {flameRow, Icicle} from "./flamepaint.js";
import {quantity} from "./format.js";
import {bottomUp, callees, callers, topDown} from "./graph.js";
import {metricChoice} from "./metricchoice.js";
import {change, openFrame, state, touches, watch} from "./state.js";
import {hideTip, showTip} from "./tip.js";
import {pathOf} from "./tree.js";

const shapes = [["down", "call tree"], ["up", "bottom up"], ["around", "callers and callees"]];

export class Flame {
  /** @type {Icicle} the picture with what is chosen */
  main;
  /** @type {Icicle[]} main, and the callers around a name */
  pictures;
  /** @type {number} of both */
  rows;
  /** @type {number} node of main; in the call tree it is state.node */
  chosen;
  /** @type {number} node of main; in the call tree it is state.zoom */
  zoomed;
  /** @type {HTMLLabelElement} */
  shapeChoice;
  /** @type {HTMLLabelElement} */
  orderChoice;

  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.shape = "down";
    this.order = "time";
    this.clicked = -Infinity; // when, in ms
    this.draw = animationFrame(() => this.paint());
    this.bar = make("div", {class: "bar"});
    this.canvas = make("canvas", {tabindex: "0", role: "application", "aria-roledescription": "flame graph",
      "aria-label": "Flame graph. Arrow keys move between frames, Enter zooms, Escape zooms out. The table holds the same numbers."});
    this.spacer = make("div");
    this.stage = make("div", {class: "stage"}, this.canvas, this.spacer);
    this.details = make("aside", {class: "details", "aria-label": "Chosen frame", tabindex: "0"});
    this.crumbs = make("nav", {class: "crumbs", "aria-label": "Zoomed to"});
    this.legend = make("div", {class: "legend"});
    this.reset = make("button", {type: "button", class: "button", onclick: () => this.zoom(0)}, "Reset zoom");
    panel.append(this.bar, make("div", {class: "split"}, this.stage, this.details));
    this.fillBar();
    this.arrange();
    this.listen();
    watch((changed) => this.changed(changed));
  }

  fillBar() {
    const {report} = state;
    const colours = report.diff ? [["change", "change"], ["kind", "kind of frame"]] : [["kind", "kind of frame"]];
    if (!report.diff && report.util >= 0) colours.push(["util", "utilisation"]);
    if (report.diff) state.colour = "change";
    this.shapeChoice = choice("Show", shapes, this.shape, (shape) => this.setShape(shape));
    this.orderChoice = choice("Order", [["time", "as they ran"], ["size", "largest first"]], this.order, (order) => {
      this.order = order;
      this.arrange();
      this.draw();
    });
    this.bar.append(this.shapeChoice, metricChoice("Width"), choice("Colour", colours, state.colour, (colour) => change({colour})), this.orderChoice,
      this.reset, this.legend, this.crumbs);
  }

  /** arrange makes the pictures of the shape. The callers stand above the first picture, the callees are it. */
  arrange() {
    const {report: {tree}, metric, node} = state;
    this.chosen = 0;
    this.zoomed = 0;
    if (this.shape === "around") {
      const above = new Icicle(callers(tree, metric, tree.name[node]), "time", true);
      this.main = new Icicle(callees(tree, metric, tree.name[node]), "time");
      this.main.top = above.top = above.depths - 1;
      above.from = 1;
      this.pictures = [this.main, above];
    } else {
      this.main = this.shape === "down" ? new Icicle(topDown(tree, metric), this.order) : new Icicle(bottomUp(tree, metric), "time");
      this.pictures = [this.main];
    }
    if (this.shape === "down") [this.chosen, this.zoomed] = [state.node, state.zoom];
    this.main.view = this.main.span(this.zoomed);
    this.rows = this.main.top + this.main.depths;
  }

  /** @param {string} shape */
  setShape(shape) {
    this.shape = shape;
    within(this.shapeChoice, "option").forEach((o) => (/** @type {HTMLOptionElement} */ (o).selected = /** @type {HTMLOptionElement} */ (o).value === shape));
    this.arrange();
    this.stage.scrollTop = this.shape === "around" ? this.main.top * flameRow - this.stage.clientHeight / 2 : 0;
    this.refresh();
  }

  listen() {
    const {canvas} = this;
    new ResizeObserver(() => this.draw()).observe(this.stage);
    this.stage.addEventListener("scroll", () => this.draw());
    canvas.addEventListener("pointermove", (e) => this.hover(e));
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("click", (e) => {
      const {picture, node} = this.at(e);
      hideTip(); // it would describe what was there before the zoom
      if (node < 0) return;
      if (this.shape === "around") return this.centre(picture.graph.frame[node]);
      this.select(node);
      const doubled = e.detail === 2 && e.timeStamp - this.clicked < 250; // a double click counts once; a slower second click zooms out
      this.clicked = e.timeStamp;
      if (!doubled) this.zoom(node === this.zoomed ? Math.max(0, picture.graph.parent[node]) : node);
    });
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
  }

  /** @param {Changed} changed */
  changed(changed) {
    const shown = touches(changed, "zoom") || (changed.has("tab") && changed.has("node"));
    if (shown && this.shape !== "down") this.setShape("down"); // another view leads to a frame of the call tree
    if (changed.has("metric") || (changed.has("node") && this.shape === "around")) this.arrange();
    if (this.shape === "down") this.chosen = state.node;
    if (changed.has("zoom")) this.moveTo(state.zoom);
    if (touches(changed, "metric", "zoom", "node", "matches", "colour", "theme", "tab")) this.refresh();
  }

  /**
   * select chooses a node. In the call tree the whole page does.
   * @param {number} node
   */
  select(node) {
    this.chosen = node;
    if (this.shape === "down") change({node});
    else this.refresh();
  }

  /**
   * zoom gives a node the whole width.
   * @param {number} node
   */
  zoom(node) {
    if (this.shape === "down") return change({zoom: node});
    this.moveTo(node);
    this.refresh();
  }

  /**
   * centre shows callers and callees of the frames that have the name of one.
   * @param {number} frame
   */
  centre(frame) {
    change({node: frame});
    this.setShape("around");
    say(this.nodeText(0));
  }

  /**
   * moveTo moves the view to a node in a sixth of a second, at once for those who asked for less motion.
   * @param {number} node
   */
  moveTo(node) {
    const {main} = this, from = {...main.view}, to = main.span(node);
    this.zoomed = node;
    const started = performance.now();
    const step = (/** @type {number} */ now) => {
      const t = reducedMotion.matches || document.hidden ? 1 : Math.min(1, (now - started) / 160);
      const eased = 1 - (1 - t) ** 3;
      main.view = {left: from.left + (to.left - from.left) * eased, width: from.width + (to.width - from.width) * eased};
      this.paint();
      if (t < 1 && this.zoomed === node) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  refresh() {
    if (state.tab !== "flame") return;
    const {graph} = this.main, isTree = this.shape === "down";
    this.reset.disabled = this.zoomed === 0;
    this.orderChoice.hidden = !isTree;
    const path = this.zoomed ? pathOf(graph, this.zoomed) : [];
    this.crumbs.replaceChildren(...pathList(path.map((n) => [graph.name[n], () => {
      this.select(n);
      this.zoom(n);
    }])).childNodes);
    this.details.replaceChildren(this.describe());
    this.legend.replaceChildren(...flameLegend());
    this.draw();
  }

  /** describe fills the panel. */
  describe() {
    const {graph} = this.main, frame = graph.frame[this.chosen];
    const around = make("button", {type: "button", class: "button", onclick: () => this.centre(frame)}, "Callers and callees");
    if (this.shape === "down") return frameDetails(state.node, "flame", around);
    const tree = make("button", {type: "button", class: "button", onclick: () => {
      this.setShape("down");
      openFrame(frame);
    }}, "Show in call tree");
    if (this.shape === "up") return chainDetails(graph, this.chosen, around, tree);
    return neighbourDetails(graph, this.pictures[1].graph, (next) => this.centre(next), tree);
  }

  show() {
    this.main.view = this.main.span(this.zoomed);
    this.refresh();
  }

  paint() {
    const box = this.stage;
    if (state.tab !== "flame" || !box.clientWidth) return;
    const width = box.clientWidth, height = box.clientHeight, top = box.scrollTop;
    const context = prepareCanvas(this.canvas, width, height);
    this.spacer.style.height = Math.max(0, this.rows * flameRow + 2 - height) + "px";
    context.fillStyle = css.panel;
    context.fillRect(0, 0, width, height);
    context.font = "12px ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace";
    context.textBaseline = "middle";
    const sight = {left: 0, right: width, top, bottom: top + height}, letter = context.measureText("0").width;
    for (const picture of this.pictures) picture.paint(context, sight, letter);
    this.main.outline(context, this.chosen, sight, document.activeElement === this.canvas);
  }

  /**
   * at finds the node under the pointer, -1 for none, and the picture that it is in.
   * @param {MouseEvent} event
   */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top + this.stage.scrollTop) / flameRow), share = (event.clientX - box.left) / box.width;
    for (const picture of this.pictures) {
      const node = picture.at(row, share);
      if (node >= 0) return {picture, node};
    }
    return {picture: this.main, node: -1};
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const {picture: {graph}, node} = this.at(event), {report} = state;
    this.canvas.style.cursor = node >= 0 ? "pointer" : "";
    if (node < 0) return hideTip();
    const isTree = this.shape === "down";
    showTip(event.clientX, event.clientY, report.strings[graph.name[node]], isTree ? tipPairs(node) : nodePairs(graph, node), isTree ? sideText(node) : "");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    hideTip();
    const {main, chosen} = this, {parent} = main.graph;
    /** @type {Record<string, () => number>} */
    const moves = {
      ArrowUp: () => parent[chosen],
      ArrowDown: () => main.widestChild(chosen),
      ArrowLeft: () => main.sibling(chosen, -1),
      ArrowRight: () => main.sibling(chosen, 1),
      Home: () => 0,
    };
    if (this.shape === "around") {
      if (!this.keyAround(event.key)) return;
    } else if (moves[event.key]) this.choose(moves[event.key]());
    else if (event.key === "Enter" || event.key === " ") this.zoom(chosen);
    else if (event.key === "Escape" || event.key === "Backspace") this.zoom(Math.max(0, parent[this.zoomed]));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * keyAround goes from the frame in the middle to its largest caller or callee, or back to the call tree.
   * @param {string} key
   */
  keyAround(key) {
    const picture = {ArrowDown: this.pictures[0], ArrowUp: this.pictures[1]}[key];
    if (picture) {
      const node = picture.widestChild(0);
      if (node >= 0) this.centre(picture.graph.frame[node]);
    } else if (key === "Escape" || key === "Backspace") this.setShape("down");
    else return false;
    return true;
  }

  /**
   * choose chooses a node, brings it into view and announces it, and does nothing for -1.
   * @param {number} node
   */
  choose(node) {
    if (node < 0) return;
    if (this.shape === "around") return this.centre(node);
    const {main} = this, {graph, view} = main;
    const inView = main.x[node] < view.left + view.width && main.x[node] + main.width[node] > view.left;
    this.select(node);
    if (!inView) this.zoom(Math.max(0, graph.parent[node]));
    const y = main.rowOf(graph.depth[node]) * flameRow;
    if (y < this.stage.scrollTop) this.stage.scrollTop = y;
    if (y + flameRow > this.stage.scrollTop + this.stage.clientHeight) this.stage.scrollTop = y + flameRow - this.stage.clientHeight;
    say(this.nodeText(node));
  }

  /** @param {number} node */
  nodeText(node) {
    const {graph} = this.main;
    return `${state.report.strings[graph.name[node]]}, ${quantity(graph.now[node], state.metric.unit)}`;
  }

  /** nextMatch goes to the next frame, or the next name, that the search has found. */
  nextMatch() {
    const {main} = this, {graph} = main;
    const {report, matches} = state;
    if (!matches) return;
    const count = this.shape === "around" ? report.tree.count : graph.count;
    for (let step = 1; step <= count; step++) {
      const node = ((this.shape === "around" ? state.node : this.chosen) + step) % count;
      if (this.shape === "around" ? matches.frames[node] && report.tree.name[node] !== graph.name[0] : main.isFound(node)) return this.choose(node);
    }
  }
}
