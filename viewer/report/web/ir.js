// @ts-check
// The source of a kernel next to what the compiler made of it, or two compilations next to each other. Lines that came from the same
// line of the source are marked together.

import {choice, make, within} from "./elements.js";
import {counted} from "./format.js";
import {nextLine} from "./search.js";
import {state} from "./state.js";

/** @typedef {{at: number, stage: string, lines: HTMLElement, from: number[]}} Side a compilation's number, and its text that is shown */

export class IR {
  /** @type {IRKernel} */
  kernel;
  /** @type {HTMLElement} */
  choices = make("div", {class: "bar"});
  /** @type {HTMLElement} */
  about = make("p", {class: "muted changed", role: "status"});
  place = -1; // of the stretches that differ

  /** @param {HTMLElement} panel */
  constructor(panel) {
    const {more} = state.report.ir;
    /** @type {Side[]} */
    this.sides = ["left", "right"].map((name) => ({at: 0, stage: "", lines: make("div", {class: "source", tabindex: "0", role: "region", "aria-label": `Text on the ${name}`}), from: []}));
    for (const side of this.sides) {
      side.lines.addEventListener("click", (e) => this.mark(side, /** @type {HTMLElement | null} */ (/** @type {Element} */ (e.target).closest(".line"))));
      side.lines.addEventListener("keydown", (e) => this.key(side, e));
    }
    panel.append(this.choices, this.about, make("div", {class: "ir"}, ...this.sides.map((s) => s.lines)));
    if (more) panel.append(make("p", {class: "muted changed", text: `${counted(more, "more compilation is", "more compilations are")} in the trace: the page is full`}));
    this.open(0);
  }

  show() {}

  /**
   * open shows a kernel: its source and the second stage, or two compilations if there are two traces.
   * @param {number} kernel
   */
  open(kernel) {
    this.kernel = state.report.ir.kernels[kernel];
    const [left, right] = this.sides, [pair] = state.report.diff ? this.kernel.pairs : [];
    left.at = pair?.a ?? 0;
    right.at = pair?.b ?? 0;
    const stages = this.texts(right).map((t) => t.stage), code = stages.filter((s) => s !== "python");
    right.stage = (pair && code.find((s) => pair.stages[s])) ?? code[1] ?? stages[stages.length - 1];
    left.stage = pair ? right.stage : stages[0];
    this.fill();
  }

  /** @param {Side} side */
  texts(side) {
    return this.kernel.compilations[side.at].texts;
  }

  /** pair is how the two compilations that are shown differ; undefined for one, or for two that were not compared. */
  pair() {
    const [left, right] = this.sides;
    return this.kernel.pairs.find((p) => p.a === Math.min(left.at, right.at) && p.b === Math.max(left.at, right.at));
  }

  /**
   * changedOf lists the lines of a stage that only this side has.
   * @param {Side} side
   * @param {string} stage
   */
  changedOf(side, stage) {
    const pair = this.pair(), change = pair?.stages[stage];
    return (pair && change?.[side.at === pair.a ? "a" : "b"]) ?? [];
  }

  fill() {
    const {kernels} = state.report.ir, [left, right] = this.sides, two = left.at !== right.at, pair = this.pair();
    this.place = -1;
    this.choices.replaceChildren(
      choice("Kernel", kernels.map((k, i) => [String(i), k.name]), String(kernels.indexOf(this.kernel)), (i) => this.open(Number(i))),
      ...this.sides.flatMap((side) => this.choicesOf(side)),
      make("button", {type: "button", class: "button", disabled: left.stage !== right.stage || !pair?.stages[left.stage], onclick: () => this.next()}, "Next difference"));
    this.about.textContent = !two ? this.kernel.compilations[left.at].about
      : !pair ? "These two were not compared on this page: proton trace diff compares any"
      : pair.changes.join(" · ") || "Nothing differs but names";
    for (const side of this.sides) this.text(side);
  }

  /** @param {Side} side */
  choicesOf(side) {
    const [left, right] = this.sides, name = side === left ? "Left" : "Right";
    const compilations = this.kernel.compilations.map((c, i) => [String(i), c.name]), other = side === left ? right : left;
    return [
      choice(name, compilations, String(side.at), (i) => {
        side.at = Number(i);
        if (side.at !== other.at) side.stage = other.stage = [side.stage, other.stage].find((stage) => stage !== "python") ?? "python";
        for (const s of this.sides) if (!this.texts(s).some((t) => t.stage === s.stage)) s.stage = this.texts(s)[0].stage;
        this.fill();
      }),
      choice("as", this.texts(side).map((t) => [t.stage, t.stage === "python" ? "source" : t.stage]), side.stage, (stage) => {
        side.stage = stage;
        this.fill();
      }),
    ];
  }

  /**
   * text shows the text of one side. A line that only this side has bears a sign, as its colour is not enough.
   * @param {Side} side
   */
  text(side) {
    const {first, lines, from} = /** @type {IRText} */ (this.texts(side).find((t) => t.stage === side.stage));
    const old = side === this.sides[0], changed = new Set(this.sides[0].stage === this.sides[1].stage ? this.changedOf(side, side.stage) : []);
    side.from = this.inSourceOfLeft(side, from ?? lines.map((_, i) => first + i));
    side.lines.replaceChildren(make("div", {class: "block"}, ...lines.map((text, i) => {
      const is = changed.has(first + i);
      return make("div", {class: "line" + (is ? (old ? " less" : " more") : ""), "data-own": first + i, "data-from": side.from[i], tabindex: "-1"},
        make("span", {class: "at", text: (is ? (old ? "−" : "+") : "") + (first + i)}), make("span", {class: "text", text: text || " "}));
    })));
  }

  /**
   * inSourceOfLeft turns lines of this side's source into those of the left's, if the sources differ: lines that both have are the same in order.
   * @param {Side} side
   * @param {number[]} from
   */
  inSourceOfLeft(side, from) {
    const [left] = this.sides, mine = new Set(this.changedOf(side, "python")), others = new Set(this.changedOf(left, "python"));
    const source = (/** @type {Side} */ s) => this.texts(s).find((t) => t.stage === "python");
    const here = source(side), there = source(left);
    if (side === left || !here || !there || side.at === left.at) return from;
    const kept = (/** @type {IRText} */ t, /** @type {Set<number>} */ gone) => t.lines.map((_, i) => t.first + i).filter((n) => !gone.has(n));
    const to = kept(there, others), map = new Map(kept(here, mine).map((n, i) => [n, to[i]]));
    return from.map((n) => map.get(n) ?? 0);
  }

  /**
   * mark shows the lines on both sides that came from the same line of the source, and brings those of the other side into view.
   * @param {Side} side
   * @param {HTMLElement | null} line
   */
  mark(side, line) {
    if (!line) return;
    const from = line.dataset.from, counts = [];
    for (const s of this.sides) {
      for (const l of within(s.lines, ".hot")) l.classList.remove("hot");
      const same = from && from !== "0" ? within(s.lines, `.line[data-from="${from}"]`) : s === side ? [line] : [];
      for (const l of same) l.classList.add("hot");
      if (s !== side) same[0]?.scrollIntoView({block: "center"});
      counts.push(`${counted(same.length, "line")} of ${s.stage === "python" ? "the source" : s.stage}`);
    }
    line.focus({preventScroll: true});
    line.scrollIntoView({block: "nearest"});
    this.about.textContent = from && from !== "0" ? `Line ${from} of the source: ${counts.join(", ")}` : "This line came from no line of the source";
  }

  /** next shows the next stretch that differs, on both sides. */
  next() {
    const pair = /** @type {IRPair} */ (this.pair()), {places} = pair.stages[this.sides[0].stage];
    this.place = (this.place + 1) % places.length;
    for (const side of this.sides) {
      const [line] = within(side.lines, `.line[data-own="${places[this.place][side.at === pair.a ? 0 : 1]}"]`);
      line?.scrollIntoView({block: "center"});
    }
    this.about.textContent = `Difference ${this.place + 1} of ${places.length}`;
  }

  /**
   * @param {Side} side
   * @param {KeyboardEvent} event
   */
  key(side, event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step) return;
    const all = within(side.lines, ".line"), at = all.findIndex((line) => line === document.activeElement);
    this.mark(side, all[Math.max(0, Math.min(all.length - 1, at + step))]);
    event.preventDefault();
  }

  /** nextMatch goes to the next line, on the left and then on the right, that has what is searched for. */
  nextMatch() {
    nextLine(this.sides.flatMap((s) => within(s.lines, ".line")), state.query);
  }
}
