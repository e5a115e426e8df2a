// @ts-check
// The flame graph: an icicle, the root on top, drawn on a canvas. A frame is as wide as its share of the metric.

import {animationFrame, prepareCanvas, reducedMotion} from "./canvas.js";
import {changeColour, cividis, css, kindColour, kinds, rampColour} from "./colour.js";
import {frameDetails, pathList, sideText, tipPairs} from "./details.js";
import {choice, make, say} from "./elements.js";
import {fitMiddle, percent, quantity} from "./format.js";
import {metricChoice} from "./metricchoice.js";
import {label} from "./names.js";
import {change, state, watch} from "./state.js";
import {hideTip, showTip} from "./tip.js";
import {childrenOf, pathOf} from "./tree.js";

const flameRow = 21;

export class Flame {
  constructor(panel) {
    this.order = "time";
    this.draw = animationFrame(() => this.paint());
    this.build(panel);
    this.layout();
    watch((changed) => this.changed(changed));
  }

  build(panel) {
    this.bar = make("div", {class: "bar"});
    this.canvas = make("canvas", {tabindex: "0", role: "application", "aria-roledescription": "flame graph",
      "aria-label": "Flame graph. Arrow keys move between frames, Enter zooms, Escape zooms out. The table holds the same numbers."});
    this.spacer = make("div");
    this.stage = make("div", {class: "stage"}, this.canvas, this.spacer);
    this.details = make("aside", {class: "details", "aria-label": "Chosen frame", tabindex: "0"});
    panel.append(this.bar, make("div", {class: "split"}, this.stage, this.details));
    this.crumbs = make("nav", {class: "crumbs", "aria-label": "Zoomed to"});
    this.legend = make("div", {class: "legend"});
    this.fillBar();
    this.listen();
  }

  fillBar() {
    const {report} = state;
    const colours = report.diff ? [["change", "change"], ["kind", "kind of frame"]] : [["kind", "kind of frame"]];
    if (!report.diff && report.util >= 0) colours.push(["util", "utilisation"]);
    if (report.diff) state.colour = "change";
    this.bar.append(
      metricChoice("Width"),
      choice("Colour", colours, state.colour, (colour) => change({colour})),
      choice("Order", [["time", "as they ran"], ["size", "largest first"]], this.order, (order) => {
        this.order = order;
        this.layout();
        this.draw();
      }),
      this.reset = make("button", {type: "button", class: "button", onclick: () => change({zoom: 0})}, "Reset zoom"),
      this.legend, this.crumbs);
  }

  listen() {
    const {canvas} = this;
    new ResizeObserver(() => this.draw()).observe(this.stage);
    this.stage.addEventListener("scroll", () => this.draw());
    canvas.addEventListener("pointermove", (e) => this.hover(e));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("click", (e) => {
      const node = this.at(e);
      hideTip(); // it would describe what was there before the zoom
      if (node >= 0) change({node});
      if (node >= 0 && e.detail !== 2) change({zoom: node === state.zoom ? Math.max(0, state.report.tree.parent[node]) : node});
    });
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
  }

  changed(changed) {
    if (changed.has("metric")) this.layout();
    if (changed.has("zoom")) this.zoomTo(state.zoom);
    if (["metric", "zoom", "node", "matches", "colour", "theme", "tab"].some((k) => changed.has(k))) this.refresh();
  }

  /** layout gives every frame its place, in units of the metric from the left edge. */
  layout() {
    const {tree} = state.report, {metric} = state;
    const values = tree.values[metric.column], old = metric.old >= 0 ? tree.values[metric.old] : null;
    const width = new Float64Array(tree.count), x = new Float64Array(tree.count);
    this.depths = 0;
    for (let i = tree.count - 1; i >= 0; i--) {
      const own = old ? Math.max(values[i] || 0, old[i] || 0) : values[i];
      if (own > width[i]) width[i] = own;
      if (i > 0) width[tree.parent[i]] += width[i];
      if (tree.depth[i] >= this.depths) this.depths = tree.depth[i] + 1;
    }
    const next = new Float64Array(tree.count);
    for (let i = 0; i < tree.count; i++) {
      if (this.order === "time") {
        if (i > 0) {
          x[i] = next[tree.parent[i]];
          next[tree.parent[i]] += width[i];
        }
        next[i] = x[i];
        continue;
      }
      const children = [];
      childrenOf(tree, i, (c) => children.push(c));
      children.sort((a, b) => width[b] - width[a]);
      let at = x[i];
      for (const c of children) {
        x[c] = at;
        at += width[c];
      }
    }
    this.width = width;
    this.x = x;
    this.tiny = Array.from({length: this.depths}, () => null);
    this.view = {left: x[state.zoom], width: width[state.zoom] || width[0] || 1};
  }

  /** zoomTo moves the view to a frame in a sixth of a second, at once for those who asked for less motion. */
  zoomTo(node) {
    const from = {...this.view}, to = {left: this.x[node], width: this.width[node] || this.width[0] || 1};
    const started = performance.now();
    const step = (now) => {
      const t = reducedMotion.matches || document.hidden ? 1 : Math.min(1, (now - started) / 160);
      const eased = 1 - (1 - t) ** 3;
      this.view = {left: from.left + (to.left - from.left) * eased, width: from.width + (to.width - from.width) * eased};
      this.paint();
      if (t < 1 && state.zoom === node) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  refresh() {
    if (state.tab !== "flame") return;
    const {tree} = state.report;
    this.reset.disabled = state.zoom === 0;
    const path = pathOf(tree, state.zoom);
    this.crumbs.replaceChildren(...(state.zoom ? pathList(path.map((n) => [tree.name[n], () => change({zoom: n, node: n})])).childNodes : []));
    this.details.replaceChildren(frameDetails(state.node, "flame"));
    this.legend.replaceChildren(...flameLegend());
    this.draw();
  }

  show() {
    this.view = {left: this.x[state.zoom], width: this.width[state.zoom] || this.width[0] || 1};
    this.refresh();
  }

  paint() {
    const box = this.stage;
    if (state.tab !== "flame" || !box.clientWidth) return;
    const width = box.clientWidth, height = box.clientHeight;
    const context = prepareCanvas(this.canvas, width, height);
    this.spacer.style.height = Math.max(0, this.depths * flameRow + 2 - height) + "px";
    const scale = width / this.view.width, top = box.scrollTop;
    context.fillStyle = css.panel;
    context.fillRect(0, 0, width, height);
    context.font = "12px ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace";
    context.textBaseline = "middle";
    this.letter = context.measureText("0").width;
    this.paintFrames(context, scale, width, top, height);
    this.paintTiny(context, width, top);
    this.paintChosen(context, scale, width, top);
  }

  paintFrames(context, scale, width, top, height) {
    const {tree} = state.report;
    const {left} = this.view;
    const first = Math.floor(top / flameRow), last = Math.ceil((top + height) / flameRow);
    for (let i = 0; i < tree.count;) {
      const x = (this.x[i] - left) * scale, w = this.width[i] * scale, depth = tree.depth[i];
      if (x > width || x + w < 0 || depth > last || !(w > 0)) {
        i = tree.end[i];
        continue;
      }
      if (w < 1.2) {
        this.markTiny(depth, x, width, i);
        i = tree.end[i];
        continue;
      }
      if (depth >= first) {
        const from = Math.max(0, x), to = Math.min(width, x + w);
        this.paintFrame(context, i, from, depth * flameRow - top, to - from);
      }
      i++;
    }
  }

  paintFrame(context, node, x, y, w) {
    const {tree} = state.report;
    const faint = state.matches && !state.matches[tree.name[node]];
    const {colour, ink} = frameColour(node);
    context.globalAlpha = faint ? 0.3 : 1;
    context.fillStyle = colour;
    context.fillRect(x + 0.5, y + 1, Math.max(0.7, w - 1), flameRow - 1);
    if (state.matches && !faint) {
      context.strokeStyle = css.accent;
      context.lineWidth = 1.5;
      context.strokeRect(x + 1, y + 1.5, Math.max(0.5, w - 2), flameRow - 2);
    }
    const letters = Math.floor((w - 10) / this.letter);
    if (letters >= 2) {
      context.fillStyle = faint ? css.text : ink;
      context.fillText(fitMiddle(this.text(node, letters), letters), x + 6, y + flameRow / 2 + 1, w - 8);
    }
    context.globalAlpha = 1;
  }

  /** text is the label of a frame: its name, and how much it has changed where that fits. */
  text(node, letters) {
    const text = label(state.report.tree.name[node]);
    if (!state.report.diff) return text;
    const by = changeText(node);
    return text.length + by.length + 2 <= letters || letters > 24 ? fitMiddle(text, letters - by.length - 2) + "  " + by : text;
  }

  /** markTiny remembers that something too narrow to draw is there. */
  markTiny(depth, x, width, node) {
    const columns = this.tiny[depth]?.length === width ? this.tiny[depth] : (this.tiny[depth] = new Uint32Array(width));
    const at = Math.max(0, Math.min(width - 1, Math.floor(x)));
    if (!columns[at]) columns[at] = node + 1;
  }

  /** paintTiny draws one column of a pixel where there are frames narrower than that, in the colour of the first. */
  paintTiny(context, width, top) {
    const {tree} = state.report;
    this.tiny.forEach((columns, depth) => {
      if (!columns) return;
      for (let x = 0; x < columns.length; x++) {
        if (!columns[x]) continue;
        const node = columns[x] - 1;
        context.globalAlpha = state.matches && !state.matches[tree.name[node]] ? 0.3 : 1;
        context.fillStyle = frameColour(node).colour;
        context.fillRect(x, depth * flameRow - top + 1, 1, flameRow - 1);
      }
      context.globalAlpha = 1;
      columns.fill(0);
    });
  }

  paintChosen(context, scale, width, top) {
    const i = state.node;
    const x = Math.max(0, (this.x[i] - this.view.left) * scale), w = Math.min(width, (this.x[i] + this.width[i] - this.view.left) * scale) - x;
    if (w <= 0) return;
    context.strokeStyle = css.text;
    context.lineWidth = 2;
    context.setLineDash(document.activeElement === this.canvas ? [] : [4, 3]);
    context.strokeRect(x + 1, state.report.tree.depth[i] * flameRow - top + 1.5, Math.max(1, w - 2), flameRow - 2);
    context.setLineDash([]);
  }

  /** at finds the frame under the pointer, -1 for none. */
  at(event) {
    const {tree} = state.report;
    const box = this.canvas.getBoundingClientRect();
    const depth = Math.floor((event.clientY - box.top + this.stage.scrollTop) / flameRow);
    const x = this.view.left + ((event.clientX - box.left) / box.width) * this.view.width;
    let node = 0;
    while (tree.depth[node] < depth) {
      let below = -1;
      childrenOf(tree, node, (c) => {
        if (x >= this.x[c] && x < this.x[c] + this.width[c]) below = c;
      });
      if (below < 0) return -1;
      node = below;
    }
    return depth < 0 || x < this.x[node] || x > this.x[node] + this.width[node] ? -1 : node;
  }

  hover(event) {
    const node = this.at(event);
    this.canvas.style.cursor = node >= 0 ? "pointer" : "";
    if (node < 0) return hideTip();
    showTip(event.clientX, event.clientY, state.report.strings[state.report.tree.name[node]], tipPairs(node), sideText(node));
  }

  leave() {
    hideTip();
  }

  key(event) {
    hideTip();
    const {tree} = state.report, {node} = state;
    const to = {
      ArrowUp: () => tree.parent[node],
      ArrowDown: () => this.widestChild(node),
      ArrowLeft: () => this.sibling(node, -1),
      ArrowRight: () => this.sibling(node, 1),
      Home: () => 0,
    }[event.key];
    if (to) {
      const next = to();
      if (next >= 0) this.choose(next);
    } else if (event.key === "Enter" || event.key === " ") change({zoom: node});
    else if (event.key === "Escape" || event.key === "Backspace") change({zoom: Math.max(0, tree.parent[state.zoom])});
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  choose(node) {
    const {tree, strings} = state.report;
    const inView = this.x[node] < this.view.left + this.view.width && this.x[node] + this.width[node] > this.view.left;
    change(inView ? {node} : {node, zoom: Math.max(0, tree.parent[node])});
    const y = tree.depth[node] * flameRow;
    if (y < this.stage.scrollTop) this.stage.scrollTop = y;
    if (y + flameRow > this.stage.scrollTop + this.stage.clientHeight) this.stage.scrollTop = y + flameRow - this.stage.clientHeight;
    say(`${strings[tree.name[node]]}, ${quantity(tree.values[state.metric.column][node], state.metric.unit)}`);
  }

  widestChild(node) {
    let best = -1;
    childrenOf(state.report.tree, node, (c) => {
      if (best < 0 || this.width[c] > this.width[best]) best = c;
    });
    return best;
  }

  /** sibling finds the next frame to the left or right with the same parent. */
  sibling(node, direction) {
    const {tree} = state.report;
    if (tree.parent[node] < 0) return -1;
    let best = -1;
    childrenOf(tree, tree.parent[node], (c) => {
      const away = (this.x[c] - this.x[node]) * direction;
      if (c !== node && this.width[c] > 0 && away > 0 && (best < 0 || away < (this.x[best] - this.x[node]) * direction)) best = c;
    });
    return best;
  }
}

function frameColour(node) {
  const {report, metric, colour} = state, {tree} = report;
  if (colour === "change") return changeColour(metric.ratio >= 0 ? tree.values[metric.ratio][node] / 100 : NaN, tree.side ? tree.side[node] : 0);
  if (colour === "util") return rampColour(tree.values[report.util][node] / 100);
  return kindColour(tree.kind[node], tree.name[node]);
}

/** changeText is by how much a frame has changed, in words where there is nothing to divide by. */
function changeText(node) {
  const {report, metric} = state, {tree} = report;
  if (tree.side[node] === 1) return "gone";
  if (tree.side[node] === 2) return "new";
  const ratio = metric.ratio >= 0 ? tree.values[metric.ratio][node] : NaN;
  return Number.isNaN(ratio) ? "" : percent(ratio / 100, true);
}

function flameLegend() {
  const {report, colour} = state;
  const entry = (c, text) => {
    const box = make("i");
    box.style.background = c;
    return make("span", {}, box, text);
  };
  if (colour === "change") {
    return [entry(changeColour(-1, 0).colour, "less"), entry(changeColour(0, 0).colour, "same"), entry(changeColour(1, 0).colour, "more")];
  }
  if (colour === "util") {
    const ramp = make("i", {class: "ramp"});
    ramp.style.background = `linear-gradient(90deg, ${cividis.map((c) => `rgb(${c.join(" ")})`).join(", ")})`;
    return [make("span", {}, "0 ", ramp, "100 % of the roof"), entry(rampColour(NaN).colour, "not known")];
  }
  const present = kinds.map((_, k) => k).filter((k) => report.tree.kind.includes(k));
  return present.map((k) => entry(kindColour(k, 20).colour, kinds[k]));
}
