// @ts-check
// The timeline: lanes of threads and streams over time, on a canvas. Slices of a row do not overlap and lie in order,
// so that what is in sight is found by bisection, and slices narrower than a pixel are drawn as one column whose
// strength is the time they cover. A frame costs the width of the screen, however many slices there are.

import {animationFrame, prepareCanvas} from "./canvas.js";
import {counterHeight, counterTitle, highest, paintCounter} from "./counters.js";
import {css, dotColour, kindColour, sliceHues, sliceKinds} from "./colour.js";
import {pathList} from "./details.js";
import {empty, make, say} from "./elements.js";
import {fitMiddle, percent, quantity} from "./format.js";
import {label} from "./names.js";
import {busiestPart, firstAfter, laneBusy, overallBusy, timeTicks} from "./slices.js";
import {openFrame, state, touches, watch} from "./state.js";
import {hideTip, showTip} from "./tip.js";
import {findFrame} from "./tree.js";

const axisHeight = 24, laneTitle = 22, sliceRow = 18, laneGap = 8;

/**
 * isFound reports whether the search matches a slice: its name, or where the search is along the call path, its path.
 * @param {Slices} row
 * @param {number} i
 */
function isFound(row, i) {
  const {matches} = state;
  if (!matches) return false;
  if (!matches.paths) return matches.names[row.name[i]] === 1;
  return row.path[i] > 0 && matches.paths[row.path[i] - 1] === 1;
}

export class Timeline {
  /** @type {HTMLElement} */
  range;
  /** @type {HTMLCanvasElement} */
  over;
  /** @type {HTMLElement} */
  overview;
  /** @type {HTMLCanvasElement} */
  canvas;
  /** @type {HTMLElement} */
  spacer;
  /** @type {HTMLElement} */
  stage;
  /** @type {HTMLElement} */
  details;
  /** @type {number[]} by row */
  rowTop;
  /** @type {number} */
  height;
  /** @type {number} CSS pixels in a nanosecond */
  scale;
  /** @type {Map<number, PointerEvent>} those that are down */
  pointers;
  /** @type {boolean} since a pointer came down */
  moved;
  /** @type {Map<number, number[]> | undefined} flows by the slice at either end */
  flowIndex;
  /** @type {Float64Array[]} for the overview, by pixel */
  busy;
  /** @type {number} of the overview when busy was computed */
  busyWidth;

  /** @param {HTMLElement} panel */
  constructor(panel) {
    const {timeline} = state.report;
    this.full = {from: 0, to: Math.max(1, timeline.span)};
    this.view = busiestPart(timeline) ?? {...this.full};
    this.chosen = null; // {row, index}
    this.draw = animationFrame(() => this.paint());
    this.place();
    this.build(panel);
    this.describe();
    if (state.span) this.setView(state.span);
    watch((changed) => {
      if (changed.has("span") && state.span) this.setView(state.span);
      if (touches(changed, "matches", "theme", "tab")) this.draw();
    });
  }

  /** place gives every lane and row its height from the top. */
  place() {
    let y = axisHeight;
    this.rowTop = [];
    const {timeline} = state.report;
    for (const counter of timeline.counters) {
      counter.top = y;
      y += laneTitle + counterHeight + laneGap;
    }
    for (const lane of timeline.lanes) {
      lane.top = y;
      y += laneTitle;
      for (let i = 0; i < lane.rows; i++, y += sliceRow) this.rowTop[lane.row + i] = y;
      for (let i = 0; i < lane.rows; i++) timeline.rows[lane.row + i].lane = lane;
      y += laneGap;
    }
    this.height = y;
  }

  /** @param {HTMLElement} panel */
  build(panel) {
    const zoom = (/** @type {number} */ by, /** @type {string} */ text, /** @type {string} */ sign) => make("button", {type: "button", class: "button", "aria-label": text, title: text, onclick: () => this.zoom(by)}, sign);
    this.range = make("span", {class: "muted number", "aria-live": "polite"});
    panel.append(make("div", {class: "bar"}, make("span", {class: "choice"}, zoom(0.5, "Zoom in (w)", "+"), zoom(2, "Zoom out (s)", "−"),
      make("button", {type: "button", class: "button", onclick: () => this.setView(this.full)}, "Show all")),
      this.range, make("div", {class: "legend end"}, ...timelineLegend())));
    this.over = make("canvas", {"aria-hidden": "true"});
    this.overview = make("div", {class: "overview"}, this.over);
    this.canvas = make("canvas", {tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": "Timeline. Left and right arrows move between slices, up and down between rows, w and s zoom, a and d move, Enter zooms to a slice, Escape shows all."});
    this.spacer = make("div");
    this.stage = make("div", {class: "stage"}, this.canvas, this.spacer);
    this.details = make("aside", {class: "details", "aria-label": "Chosen slice", tabindex: "0"});
    panel.append(make("div", {class: "timeline"}, this.overview, this.stage, this.details));
    this.listen();
  }

  show() {
    this.draw();
  }

  listen() {
    const {canvas, stage} = this;
    new ResizeObserver(() => this.draw()).observe(stage);
    stage.addEventListener("scroll", () => {
      hideTip(); // it would describe what was there before
      this.draw();
    });
    canvas.addEventListener("wheel", (e) => this.wheel(e), {passive: false});
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("dblclick", () => this.zoomToChosen());
    canvas.addEventListener("pointerleave", hideTip);
    this.pointers = new Map();
    canvas.addEventListener("pointerdown", (e) => this.down(e));
    canvas.addEventListener("pointermove", (e) => this.move(e));
    canvas.addEventListener("pointerup", (e) => this.up(e));
    canvas.addEventListener("pointercancel", (e) => this.pointers.delete(e.pointerId));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    this.listenToOverview();
  }

  /** listenToOverview has a drag select the range to show, and a click move what is shown to there. */
  listenToOverview() {
    const {overview} = this;
    const timeAt = (/** @type {PointerEvent} */ e) => {
      const box = overview.getBoundingClientRect();
      return Math.max(0, Math.min(1, (e.clientX - box.left) / box.width)) * this.full.to;
    };
    /** @type {{x: number, time: number, dragged: boolean} | null} */
    let begin = null;
    overview.addEventListener("pointerdown", (e) => {
      overview.setPointerCapture?.(e.pointerId);
      begin = {x: e.clientX, time: timeAt(e), dragged: false};
    });
    overview.addEventListener("pointermove", (e) => {
      if (!begin || (!begin.dragged && Math.abs(e.clientX - begin.x) < 4)) return;
      begin.dragged = true;
      const time = timeAt(e);
      this.setView({from: Math.min(begin.time, time), to: Math.max(begin.time, time)});
    });
    overview.addEventListener("pointerup", () => {
      if (begin && !begin.dragged) {
        const span = this.view.to - this.view.from;
        this.setView({from: begin.time - span / 2, to: begin.time + span / 2});
      }
      begin = null;
    });
    overview.addEventListener("pointercancel", () => (begin = null));
  }

  /**
   * setView shows a range of time, kept within what there is and to no less than 20 ns.
   * @param {Span} span
   */
  setView({from, to}) {
    const span = Math.min(this.full.to, Math.max(20, to - from));
    const start = Math.max(0, Math.min(this.full.to - span, from));
    this.view = {from: start, to: start + span};
    hideTip(); // it would describe what was there before
    this.draw();
  }

  /**
   * @param {number} by
   * @param {number} [at]
   */
  zoom(by, at = (this.view.from + this.view.to) / 2) {
    const {from, to} = this.view;
    this.setView({from: at - (at - from) * by, to: at + (to - at) * by});
  }

  /** @param {number} share */
  pan(share) {
    const by = (this.view.to - this.view.from) * share;
    this.setView({from: this.view.from + by, to: this.view.to + by});
  }

  /** @param {number} clientX */
  timeAt(clientX) {
    const box = this.canvas.getBoundingClientRect();
    return this.view.from + ((clientX - box.left) / box.width) * (this.view.to - this.view.from);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const scrolls = this.stage.scrollHeight > this.stage.clientHeight + 1;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey || (!sideways && !scrolls)) this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150), this.timeAt(event.clientX));
    else if (sideways) this.pan((event.deltaX || event.deltaY) / this.canvas.clientWidth);
    else return;
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    this.moved = false;
    hideTip();
  }

  /** @param {PointerEvent} event */
  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(event);
    if (this.pointers.size === 1) {
      if (Math.abs(event.clientX - before.clientX) < 3 && !this.moved) return;
      this.canvas.classList.add("panning");
      this.pan((before.clientX - event.clientX) / this.canvas.clientWidth);
    } else {
      const other = [...this.pointers.values()].find((p) => p.pointerId !== event.pointerId) ?? before;
      const apart = Math.abs(before.clientX - other.clientX), now = Math.abs(event.clientX - other.clientX);
      if (apart > 8 && now > 8) this.zoom(apart / now, this.timeAt(other.clientX));
    }
    this.moved = true;
    this.pointers.set(event.pointerId, event);
  }

  /** @param {PointerEvent} event */
  up(event) {
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("panning");
    if (!this.moved) this.choose(this.at(event));
  }

  paint() {
    const box = this.stage;
    if (state.tab !== "timeline" || !box.clientWidth) return;
    const width = box.clientWidth, height = box.clientHeight, top = box.scrollTop;
    const context = prepareCanvas(this.canvas, width, height);
    this.spacer.style.height = Math.max(0, this.height - height) + "px";
    this.scale = width / (this.view.to - this.view.from);
    context.fillStyle = css.panel;
    context.fillRect(0, 0, width, height);
    context.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
    context.textBaseline = "middle";
    const ticks = timeTicks(this.view, width);
    this.paintLines(context, ticks, height);
    for (const counter of state.report.timeline.counters) this.paintCounterLane(context, counter, top, width, height);
    for (const lane of state.report.timeline.lanes) this.paintLane(context, lane, top, width, height);
    this.paintArrows(context, top);
    this.paintAxis(context, ticks, width);
    this.paintOverview();
    this.range.textContent = `${quantity(this.view.from, "ns")} to ${quantity(this.view.to, "ns")}, ${quantity(this.view.to - this.view.from, "ns")} in sight`;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {{at: number[], text: (t: number) => string}} ticks
   * @param {number} height
   */
  paintLines(context, ticks, height) {
    context.fillStyle = css.line;
    for (const t of ticks.at) context.fillRect(Math.round((t - this.view.from) * this.scale), axisHeight, 1, height);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {{at: number[], text: (t: number) => string}} ticks
   * @param {number} width
   */
  paintAxis(context, ticks, width) {
    context.fillStyle = css.panel;
    context.fillRect(0, 0, width, axisHeight);
    context.fillStyle = css.line;
    context.fillRect(0, axisHeight - 1, width, 1);
    context.fillStyle = css.muted;
    for (const t of ticks.at) {
      const x = Math.round((t - this.view.from) * this.scale);
      context.fillRect(x, axisHeight - 6, 1, 5);
      context.fillText(ticks.text(t), x + 4, axisHeight / 2);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Counter} counter
   * @param {number} top
   * @param {number} width
   * @param {number} height
   */
  paintCounterLane(context, counter, top, width, height) {
    const y = counter.top - top;
    if (y > height || y + laneTitle + counterHeight < 0) return;
    this.paintTitle(context, counter.name, counterTitle(counter, this.view), y, width);
    paintCounter(context, counter, this.view, y + laneTitle, width);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {string} name
   * @param {string} more
   * @param {number} y
   * @param {number} width
   */
  paintTitle(context, name, more, y, width) {
    context.fillStyle = css.hover;
    context.fillRect(0, y + 2, width, laneTitle - 4);
    context.fillStyle = css.text;
    context.fillText(name, 8, y + laneTitle / 2);
    context.fillStyle = css.muted;
    const x = 16 + context.measureText(name).width, room = width - 8 - x;
    if (context.measureText(more).width <= room) context.fillText(more, x, y + laneTitle / 2);
    else this.clippedText(context, more, x, y + laneTitle / 2, room);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Lane} lane
   * @param {number} top
   * @param {number} width
   * @param {number} height
   */
  paintLane(context, lane, top, width, height) {
    const y = lane.top - top;
    if (y > height || y + laneTitle + lane.rows * sliceRow < 0) return;
    const rows = state.report.timeline.rows;
    const name = lane.process ? `${lane.process} · ${lane.name}` : lane.name;
    const busy = laneBusy(rows, lane, this.view.from, this.view.to);
    this.paintTitle(context, name, `${percent(busy)} busy`, y, width);
    for (let i = 0; i < lane.rows; i++) {
      const at = this.rowTop[lane.row + i] - top;
      if (at < height && at + sliceRow > 0) this.paintRow(context, lane.row + i, at, width);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} number
   * @param {number} y
   * @param {number} width
   */
  paintRow(context, number, y, width) {
    const row = state.report.timeline.rows[number];
    const {from, to} = this.view, perPixel = 1 / this.scale;
    let i = Math.max(0, firstAfter(row.start, from) - 1);
    while (i < row.count && row.start[i] < to) {
      const x = (row.start[i] - from) * this.scale, w = row.duration[i] * this.scale;
      if (w >= 1.5) {
        if (x + w > 0) this.paintSlice(context, row, number, i, x, y, w, width);
        i++;
        continue;
      }
      const column = Math.floor(x), until = from + (column + 1) * perPixel;
      let next = Math.max(i + 1, firstAfter(row.start, until, i));
      if (next > i + 1 && row.duration[next - 1] * this.scale >= 1.5) next--;
      this.paintColumn(context, row, i, next, column, y, perPixel);
      i = next;
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Slices} row
   * @param {number} number
   * @param {number} i
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} width
   */
  paintSlice(context, row, number, i, x, y, w, width) {
    const left = Math.max(-2, x), right = Math.min(width + 2, x + w);
    const faint = state.matches && !isFound(row, i);
    const {colour, ink} = kindColour(sliceHues[row.kind[i]], row.name[i]);
    context.globalAlpha = faint ? 0.25 : 1;
    context.fillStyle = colour;
    context.fillRect(left, y, Math.max(1, right - left - (w > 4 ? 1 : 0)), sliceRow - 1);
    if (right - left > 26) {
      context.fillStyle = faint ? css.text : ink;
      this.clippedText(context, label(row.name[i]), Math.max(left, 0) + 5, y + sliceRow / 2, right - Math.max(left, 0) - 10);
    }
    context.globalAlpha = 1;
    if (this.chosen?.row === number && this.chosen.index === i) this.outline(context, left, y, right - left);
  }

  /**
   * clippedText draws as much of a text as there is room for.
   * @param {CanvasRenderingContext2D} context
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {number} room
   */
  clippedText(context, text, x, y, room) {
    if (room < 12) return;
    const letters = Math.floor(room / 6.8);
    if (letters < text.length && letters < 3) return;
    context.fillText(fitMiddle(text, letters), x, y);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} x
   * @param {number} y
   * @param {number} w
   */
  outline(context, x, y, w) {
    context.strokeStyle = css.text;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y, Math.max(2, w - 2), sliceRow - 1);
  }

  /**
   * paintColumn draws the slices from i up to next as one column of a pixel.
   * @param {CanvasRenderingContext2D} context
   * @param {Slices} row
   * @param {number} i
   * @param {number} next
   * @param {number} column
   * @param {number} y
   * @param {number} perPixel
   */
  paintColumn(context, row, i, next, column, y, perPixel) {
    let found = true;
    if (state.matches) {
      found = false;
      for (let k = i; k < next && !found; k++) found = isFound(row, k);
    }
    context.globalAlpha = found ? Math.min(1, 0.55 + 0.45 * ((row.busy[next] - row.busy[i]) / perPixel)) : 0.15;
    context.fillStyle = kindColour(sliceHues[row.kind[i]], row.name[i]).colour;
    context.fillRect(column, y, 1, sliceRow - 1);
    context.globalAlpha = 1;
  }

  /**
   * paintArrows draws the arrows from and to the chosen slice.
   * @param {CanvasRenderingContext2D} context
   * @param {number} top
   */
  paintArrows(context, top) {
    if (!this.chosen) return;
    context.strokeStyle = context.fillStyle = css.accent;
    context.lineWidth = 1.5;
    for (const {from, to} of this.flowsOf(this.chosen)) {
      const [x1, y1] = this.pointOf(from, top), [x2, y2] = this.pointOf(to, top);
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1 + 24, y1 + (y2 - y1) * 0.5, x2 - 24, y2 - (y2 - y1) * 0.5, x2, y2);
      context.stroke();
      context.beginPath();
      context.moveTo(x2 + 1, y2);
      context.lineTo(x2 - 7, y2 - 4);
      context.lineTo(x2 - 7, y2 + 4);
      context.fill();
    }
  }

  /**
   * @param {SliceAt} slice
   * @param {number} top
   */
  pointOf({row, index}, top) {
    return [(state.report.timeline.rows[row].start[index] - this.view.from) * this.scale, this.rowTop[row] - top + sliceRow / 2];
  }

  /**
   * flowsOf lists the arrows that leave or reach a slice.
   * @param {SliceAt} slice
   */
  flowsOf({row, index}) {
    const {flows} = state.report.timeline;
    if (!this.flowIndex) {
      this.flowIndex = new Map();
      for (let i = 0; i < flows.count; i++) {
        for (const key of [flows.fromRow[i] * 2 ** 32 + flows.from[i], flows.toRow[i] * 2 ** 32 + flows.to[i]]) {
          const list = this.flowIndex.get(key);
          if (list) list.push(i);
          else this.flowIndex.set(key, [i]);
        }
      }
    }
    return (this.flowIndex.get(row * 2 ** 32 + index) ?? []).map((i) => ({
      from: {row: flows.fromRow[i], index: flows.from[i]}, to: {row: flows.toRow[i], index: flows.to[i]},
    }));
  }

  /** paintOverview draws how busy the GPU is over the whole time, below it in a band how busy the threads are, and which part is in sight. */
  paintOverview() {
    const width = this.overview.clientWidth, height = this.overview.clientHeight;
    const context = prepareCanvas(this.over, width, height);
    if (this.busyWidth !== width) {
      const lanes = state.report.timeline.lanes;
      this.busy = [lanes.filter((l) => l.kind === 2), lanes.filter((l) => l.kind < 2)].filter((some) => some.length).map((some) => overallBusy(state.report.timeline, some, width));
      this.busyWidth = width;
    }
    context.clearRect(0, 0, width, height);
    const gpu = state.report.timeline.lanes.some((l) => l.kind === 2);
    this.busy.forEach((shares, i) => {
      const isGPU = gpu && i === 0, bottom = isGPU && this.busy.length > 1 ? height - 14 : height, room = isGPU ? bottom - 6 : Math.min(height - 6, this.busy.length > 1 ? 10 : height);
      context.fillStyle = isGPU ? kindColour(2, 7).colour : css["strong-line"];
      shares.forEach((share, x) => context.fillRect(x, bottom - share * room, 1, share * room));
    });
    const from = (this.view.from / this.full.to) * width, to = (this.view.to / this.full.to) * width;
    context.globalAlpha = 0.65;
    context.fillStyle = css.panel;
    context.fillRect(0, 0, from, height);
    context.fillRect(to, 0, width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = css.accent;
    context.lineWidth = 2;
    context.strokeRect(from + 1, 1, Math.max(2, to - from - 2), height - 2);
  }

  /**
   * at finds the slice under the pointer, null for none; one pixel next to it counts.
   * @param {PointerEvent} event
   */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const y = event.clientY - box.top + this.stage.scrollTop;
    if (event.clientY - box.top < axisHeight) return null;
    const number = this.rowTop.findIndex((top) => y >= top && y < top + sliceRow);
    if (number < 0) return null;
    return this.sliceNear(number, this.timeAt(event.clientX), 1.5 / this.scale);
  }

  /**
   * @param {number} number
   * @param {number} time
   * @param {number} slack
   */
  sliceNear(number, time, slack) {
    const row = state.report.timeline.rows[number];
    const i = firstAfter(row.start, time);
    for (const index of [i - 1, i]) {
      if (index >= 0 && index < row.count && row.start[index] - slack <= time && row.start[index] + row.duration[index] + slack >= time) return {row: number, index};
    }
    return null;
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const found = this.at(event);
    this.canvas.style.cursor = found ? "pointer" : "";
    if (!found) return this.hoverCounter(event);
    const row = state.report.timeline.rows[found.row];
    const path = this.pathNames(row.path[found.index]);
    showTip(event.clientX, event.clientY, state.report.strings[row.name[found.index]], sliceValues(found), path.slice(0, -1).map(label).join(" › "));
  }

  /** @param {PointerEvent} event */
  hoverCounter(event) {
    const y = event.clientY - this.canvas.getBoundingClientRect().top + this.stage.scrollTop, time = this.timeAt(event.clientX);
    const counter = state.report.timeline.counters.find((c) => y >= c.top + laneTitle && y < c.top + laneTitle + counterHeight);
    if (!counter) return hideTip();
    showTip(event.clientX, event.clientY, counter.name, [["at", quantity(time, "ns")], ["value", quantity(highest(counter, time, time), "B")]]);
  }

  /** @param {number} path */
  pathNames(path) {
    const {timeline} = state.report;
    const names = [];
    for (let p = path; p > 0; p = timeline.pathParent[p - 1]) names.unshift(timeline.pathName[p - 1]);
    return names;
  }

  /** @param {SliceAt | null} found */
  choose(found) {
    this.chosen = found;
    this.describe();
    this.draw();
    if (!found) return;
    const row = state.report.timeline.rows[found.row];
    say(`${state.report.strings[row.name[found.index]]}, ${quantity(row.duration[found.index], "ns")}`);
  }

  describe() {
    const {chosen} = this;
    this.details.classList.toggle("idle", !chosen);
    if (!chosen) return this.details.replaceChildren(empty("No slice chosen", "Click one, or use the arrow keys. Press ? for all keys."));
    const {report} = state, row = report.timeline.rows[chosen.row];
    const list = make("dl", {}, ...sliceValues(chosen).flatMap(([k, v]) => [make("dt", {text: k}), make("dd", {text: v})]));
    const parts = [make("span", {class: "kind", text: sliceKinds[row.kind[chosen.index]]}), make("h2", {class: "name", text: report.strings[row.name[chosen.index]]}), list];
    const names = this.pathNames(row.path[chosen.index]), node = findFrame(report.tree, names);
    if (names.length > 1) parts.push(make("h3", {text: "Call path"}), pathList(names.map((n, i) => [n, () => openFrame(findFrame(report.tree, names.slice(0, i + 1)))])));
    for (const {from, to} of this.flowsOf(chosen)) parts.push(...this.flowButton(from, to));
    const actions = [make("button", {type: "button", class: "button", onclick: () => this.zoomToChosen()}, "Zoom to it")];
    if (node >= 0) actions.push(make("button", {type: "button", class: "button", onclick: () => openFrame(node)}, "Show in flame graph"));
    parts.push(make("div", {class: "actions"}, ...actions));
    this.details.replaceChildren(...parts);
  }

  /**
   * @param {SliceAt} from
   * @param {SliceAt} to
   */
  flowButton(from, to) {
    const launched = from.row === this.chosen?.row && from.index === this.chosen.index;
    const other = launched ? to : from, row = state.report.timeline.rows[other.row];
    const start = state.report.timeline.rows[from.row].start[from.index], end = state.report.timeline.rows[to.row].start[to.index];
    return [make("h3", {text: `${launched ? "Started" : "Started by"}, ${quantity(end - start, "ns")} ${launched ? "later" : "earlier"}`}),
      make("button", {type: "button", class: "link name", onclick: () => {
        this.choose(other);
        this.bringIntoView(other);
      }}, label(row.name[other.index]))];
  }

  zoomToChosen() {
    if (!this.chosen) return;
    const row = state.report.timeline.rows[this.chosen.row], start = row.start[this.chosen.index], d = Math.max(20, row.duration[this.chosen.index]);
    this.setView({from: start - d * 0.4, to: start + d * 1.4});
  }

  /** @param {SliceAt} slice */
  bringIntoView({row, index}) {
    const r = state.report.timeline.rows[row], start = r.start[index], end = start + r.duration[index];
    const span = this.view.to - this.view.from;
    if (end < this.view.from || start > this.view.to) this.setView({from: (start + end - span) / 2, to: (start + end + span) / 2});
    const y = this.rowTop[row];
    if (y - axisHeight < this.stage.scrollTop) this.stage.scrollTop = y - axisHeight - laneTitle;
    if (y + sliceRow > this.stage.scrollTop + this.stage.clientHeight) this.stage.scrollTop = y + sliceRow - this.stage.clientHeight;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      w: () => this.zoom(0.6), "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), s: () => this.zoom(1 / 0.6), "-": () => this.zoom(1 / 0.6),
      a: () => this.pan(-0.25), d: () => this.pan(0.25), Escape: () => this.setView(this.full), Home: () => this.setView(this.full), Enter: () => this.zoomToChosen(),
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), ArrowUp: () => this.stepRow(-1), ArrowDown: () => this.stepRow(1),
    }[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * step chooses the next slice of the row, the first in sight when none is chosen.
   * @param {number} by
   */
  step(by) {
    if (!this.chosen) return this.chooseAndShow(this.nearest(0));
    const row = state.report.timeline.rows[this.chosen.row], index = this.chosen.index + by;
    if (index >= 0 && index < row.count) this.chooseAndShow({row: this.chosen.row, index});
  }

  /** @param {number} by */
  stepRow(by) {
    if (!this.chosen) return this.step(1);
    const next = this.chosen.row + by;
    if (next >= 0 && next < this.rowTop.length) this.chooseAndShow(this.nearest(next));
  }

  /**
   * nearest finds the slice of a row that starts closest to the chosen one, or to what is in sight.
   * @param {number} number
   */
  nearest(number) {
    const {rows} = state.report.timeline, row = rows[number];
    const time = this.chosen ? rows[this.chosen.row].start[this.chosen.index] : this.view.from;
    const i = firstAfter(row.start, time);
    const before = i > 0 ? time - row.start[i - 1] : Infinity, after = i < row.count ? row.start[i] - time : Infinity;
    return {row: number, index: before <= after ? i - 1 : i};
  }

  /** @param {SliceAt} slice */
  chooseAndShow(slice) {
    this.choose(slice);
    this.bringIntoView(slice);
  }

  /** nextMatch chooses the next slice in time that the search has found. */
  nextMatch() {
    const {rows} = state.report.timeline;
    const after = this.chosen ? rows[this.chosen.row].start[this.chosen.index] : -1, afterRow = this.chosen?.row ?? -1;
    let best = null, bestTime = Infinity;
    rows.forEach((row, number) => {
      for (let i = firstAfter(row.start, after - 1); i < row.count && row.start[i] < bestTime; i++) {
        const later = row.start[i] > after || (row.start[i] === after && number > afterRow);
        if (later && isFound(row, i)) [best, bestTime] = [{row: number, index: i}, row.start[i]];
      }
    });
    if (best) this.chooseAndShow(best);
    else if (this.chosen) {
      this.chosen = null;
      this.nextMatch();
    }
  }
}

/** @param {SliceAt} slice */
function sliceValues({row, index}) {
  const r = state.report.timeline.rows[row], bytes = r.bytes[index], duration = r.duration[index];
  /** @type {Pair[]} */
  const pairs = [["duration", quantity(duration, "ns")], ["start", quantity(r.start[index], "ns")], ["lane", r.lane.process ? `${r.lane.process} · ${r.lane.name}` : r.lane.name]];
  if (!Number.isNaN(bytes)) pairs.splice(1, 0, ["bytes", quantity(bytes, "B")], ["rate", quantity(bytes / (duration * 1e-9), "B/s")]);
  return pairs;
}

function timelineLegend() {
  const {timeline} = state.report;
  const present = sliceKinds.map((_, k) => k).filter((k) => timeline.rows.some((r) => r.kind.includes(k)));
  return present.map((k) => {
    const box = make("i");
    box.style.background = dotColour(sliceHues[k]);
    return make("span", {}, box, sliceKinds[k]);
  });
}
