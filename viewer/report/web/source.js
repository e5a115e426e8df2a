// @ts-check
// The source: where inside a kernel warps spend their time, by line and by instruction; of two profiles, by line.

import {choice, icon, make, segments, within} from "./elements.js";
import {counted, grouped, percent} from "./format.js";
import {nextLine} from "./search.js";
import {state} from "./state.js";
import {hideTip, showTip} from "./tip.js";

/**
 * part is a share of samples, 0 of none.
 * @param {number} n
 * @param {number} of
 */
function part(n, of) {
  return of ? n / of : 0;
}

/**
 * lineOf finds the line that an event is about.
 * @param {Event} e
 */
function lineOf(e) {
  return /** @type {SourceLine | null} */ (/** @type {Element} */ (e.target).closest(".line"));
}

export class Source {
  /** @type {HTMLButtonElement} */
  best;
  /** @type {HTMLElement} */
  modes;
  /** @type {HTMLElement} */
  page;
  /** @type {HTMLElement} */
  head;
  /** @type {HTMLElement} */
  lines;
  /** @type {number} largest weight of a row */
  widest;
  /** @type {{top: number, left: number} | undefined} how far the page was scrolled when the tip was shown */
  tipAt;

  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.data = state.report.source;
    this.kernel = this.data.kernels[0];
    this.mode = "lines";
    /** @type {Set<SourceRow>} rows whose inlined lines are shown */
    this.open = new Set();
    this.compared = this.data.old !== undefined;
    const kernels = this.data.kernels.map((k, i) => [String(i), [`${k.name} – ${this.ofAll(k)}`, ...(k.label ? [k.label] : this.ownFacts(k))].filter(Boolean).join(" · ")]);
    this.modes = make("span");
    panel.append(make("div", {class: "bar"},
      choice("Kernel", kernels, "0", (i) => {
        this.kernel = this.data.kernels[Number(i)];
        this.open.clear();
        this.fill();
      }),
      this.modes,
      this.best = make("button", {type: "button", class: "button", onclick: () => this.hottest()}, this.compared ? "Largest change" : "Hottest line"),
      this.data.more ? make("span", {class: "muted", text: `${counted(this.data.more, "more kernel has", "more kernels have")} few samples`}) : null));
    this.page = make("div", {class: "source" + (this.compared ? " compared" : ""), tabindex: "0", role: "region", "aria-label": "Source with samples"});
    panel.append(this.page);
    this.page.addEventListener("pointerover", (e) => this.tip(lineOf(e), e.clientX, e.clientY));
    this.page.addEventListener("pointerleave", hideTip);
    this.page.addEventListener("scroll", () => {
      // The event comes a frame late: a tip that was shown after the page had moved stays.
      if (this.page.scrollTop !== this.tipAt?.top || this.page.scrollLeft !== this.tipAt?.left) hideTip();
    });
    this.page.addEventListener("focusin", (e) => {
      const line = lineOf(e);
      if (!line || !(/** @type {Element} */ (e.target)).matches(":focus-visible")) return;
      const box = line.getBoundingClientRect();
      this.tip(line, box.left + 200, box.top);
    });
    this.page.addEventListener("focusout", hideTip);
    this.page.addEventListener("keydown", (e) => this.key(e));
    this.fill();
  }

  show() {}

  /**
   * ownFacts are the facts that distinguish a kernel from others of its name: registers, for example.
   * @param {SourceKernel} k
   */
  ownFacts(k) {
    const parts = (/** @type {SourceKernel} */ o) => o.facts.flatMap((fact) => fact.split(/[,;] /));
    const others = this.data.kernels.filter((o) => o !== k && o.name === k.name).map(parts);
    return others.length ? parts(k).filter((part) => others.some((o) => !o.includes(part))) : [];
  }

  /**
   * ofAll is the part that a kernel has of all samples, in both profiles if there are two.
   * @param {SourceKernel} k
   */
  ofAll(k) {
    const now = percent(part(k.n, this.data.samples));
    return this.compared ? `${percent(part(k.old.n, this.data.old))} → ${now}` : now;
  }

  /**
   * shares of a row, A's and B's; of a single profile only the second counts.
   * @param {SourceRow} row
   */
  shares(row) {
    return [part(row.old?.n ?? 0, this.kernel.old?.n ?? 0), part(row.n, this.kernel.n)];
  }

  /**
   * weight is what rows are compared by: samples, or how far a share has moved.
   * @param {SourceRow} row
   */
  weight(row) {
    const [before, after] = this.shares(row);
    return this.compared ? Math.abs(after - before) : row.n;
  }

  fill() {
    const k = this.kernel;
    if (!k.code?.length) this.mode = "lines";
    this.modes.replaceChildren(...(k.code?.length ? [segments("Rows", [["lines", "Source"], ["code", "Instructions"]], this.mode, (mode) => {
      this.mode = mode;
      this.body();
    })] : []));
    this.head = make("div", {class: "source-head"},
      make("h2", {class: "name", text: k.name}),
      make("p", {text: [`${this.compared ? grouped(k.old.n) + " → " : ""}${counted(k.n, this.data.unit)}, ${this.ofAll(k)} of all`, ...k.facts].join(" · ")}),
      ...this.paths(k),
      ...(this.compared ? [this.mix(k.old, "A"), this.mix(k, "B")] : [this.mix(k)]), k.advice ? make("p", {}, make("b", {text: "Hint: "}), k.advice + ".") : null,
      this.notes([...k.notes, this.data.about].filter(Boolean)));
    this.lines = make("div", {class: "lines"});
    this.page.replaceChildren(this.head, this.lines);
    this.body();
  }

  /**
   * paths lists the call paths of a kernel, the one with most samples first. Further ones are folded away, as notes are.
   * @param {SourceKernel} k
   */
  paths(k) {
    const [first, ...more] = k.paths.map((p) => make("p", {class: "muted name", text: (k.paths.length > 1 ? percent(p.n / k.n) + " " : "") + p.name}));
    if (more.length < 2) return [first, ...more];
    return [first, make("details", {class: "muted"}, make("summary", {text: `${more.length} more call paths`}), ...more)];
  }

  /**
   * notes folds several sentences away, which would push the source below the edge of the window.
   * @param {string[]} all
   */
  notes(all) {
    if (all.length < 2) return all.length ? make("p", {class: "muted", text: all[0]}) : null;
    return make("details", {class: "muted"}, make("summary", {text: `${all.length} notes on these numbers`}), ...all.map((text) => make("p", {text})));
  }

  /**
   * mix is a bar of the stall reasons with a legend.
   * @param {Counts} k
   * @param {string} [side]
   */
  mix(k, side) {
    const all = this.sorted(k);
    if (!all.length && !side) return null; // instructions were counted, and not sampled
    const bar = make("div", {class: "mix", "aria-hidden": "true"});
    for (const [reason, n] of all) {
      const stretch = make("i", {title: `${this.data.reasons[reason].name} ${percent(n / k.n)}`});
      stretch.style.width = (n / k.n) * 100 + "%";
      stretch.style.background = this.colour(reason);
      bar.append(stretch);
    }
    const legend = make("div", {class: "legend"}, side ? make("b", {text: k.n ? side : `${side} has no samples of it`}) : null);
    for (const [reason, n] of all.slice(0, 8)) {
      const key = make("i", {"aria-hidden": "true"});
      key.style.background = this.colour(reason);
      const {name, means} = this.data.reasons[reason];
      legend.append(make("span", {title: `the warp ${means}`}, key, `${name} ${percent(n / k.n)}`));
    }
    return make("div", {}, bar, legend);
  }

  /**
   * colour returns a colour for each stall reason; grey for samples in which the warp issued.
   * @param {number} reason
   */
  colour(reason) {
    const {stall} = this.data.reasons[reason];
    if (!stall) return "var(--strong-line)";
    return `hsl(${(reason * 137 + 20) % 360} 55% 55%)`;
  }

  /** @param {Counts} row */
  sorted(row) {
    return [...(row.r ?? [])].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  body() {
    hideTip();
    const k = this.kernel;
    this.lines.replaceChildren();
    this.widest = 1;
    const rows = this.mode === "code" ? k.code : k.files.flatMap((f) => f.rows);
    if (this.compared) this.widest = 0.01;
    for (const row of rows) this.widest = Math.max(this.widest, this.weight(row));
    const parts = this.mode === "code" ? [{name: "", rows: k.code}] : k.files;
    this.best.disabled = !parts.length;
    if (!parts.length) this.lines.append(make("p", {class: "muted", text: "There is no line information: the compiler was not asked for any (nvcc -lineinfo), or the module is unknown."}));
    for (const {name, rows} of parts) {
      if (name) this.lines.append(make("h3", {class: "name", text: name}));
      const block = make("div", {class: "block"});
      if (this.compared) block.append(make("div", {class: "titles"}, ...["A", "share A", "B", "share B", "Δ share"].map((text) => make("span", {class: "part", text}))));
      for (const row of rows) this.add(block, row, 0);
      this.lines.append(block);
    }
    if (this.mode === "lines" && k.noLine) this.lines.append(make("p", {class: "muted", text: `${counted(k.noLine, `${this.data.unit} is of an instruction`, `${this.data.unit}s are of instructions`)} without line information`}));
  }

  /**
   * add adds a row, and if it is open what was inlined there.
   * @param {HTMLElement} block
   * @param {SourceRow} row
   * @param {number} depth
   */
  add(block, row, depth) {
    if (row.gap) block.append(make("div", {class: "gap", "aria-hidden": "true", text: "⋮"}));
    const [before, share] = this.shares(row), sampled = row.n || row.old?.n;
    const below = row.inlined ?? [], open = this.open.has(row);
    const bar = make("i", {class: this.compared ? (share > before ? "more" : "less") : ""});
    bar.style.width = (this.weight(row) / this.widest) * 100 + "%";
    const main = sampled ? this.sorted(row.n ? row : row.old).find(([reason]) => this.data.reasons[reason].stall) : null;
    const text = make("span", {class: "text", text: row.text || (depth ? row.place : " ")});
    if (depth) {
      text.style.paddingLeft = depth * 24 + "px";
      if (row.text && row.text.length > 130) text.title = row.text; // it is cut: the matrix instruction of a Hopper names 128 registers
    }
    const hot = Math.max(before, share) >= 0.1 && !depth;
    const line = Object.assign(make("div", {class: "line" + (hot ? " hot" : "") + (sampled ? "" : " idle") + (depth ? " inlined" : ""), tabindex: sampled ? "-1" : false},
      ...(this.compared ? [
        make("span", {class: "count", text: row.old?.n ? grouped(row.old.n) : ""}),
        make("span", {class: "part", text: row.old?.n ? percent(before) : ""}),
      ] : []),
      make("span", {class: "count", text: row.n ? grouped(row.n) : ""}),
      make("span", {class: "part", text: row.n ? percent(share) : ""}),
      this.compared ? make("span", {class: "part change", text: sampled ? percent(share - before, true) : ""}) : null,
      make("span", {class: "heat", "aria-hidden": "true"}, bar),
      make("span", {class: "why", text: [main ? this.data.reasons[main[0]].name : "", row.did ?? ""].filter(Boolean).join("; ")}),
      below.length ? make("button", {type: "button", class: "twist", "aria-expanded": String(open), "aria-label": `unfold ${row.at}`, onclick: () => {
        if (!this.open.delete(row)) this.open.add(row);
        const top = this.page.scrollTop, focus = row;
        this.body();
        this.page.scrollTop = top;
        for (const l of this.all()) if (l.row === focus) within(l, ".twist")[0]?.focus();
      }}, icon("M5 2l6 6-6 6")) : make("span", {class: "twist"}),
      make("span", {class: "at", text: row.at}), text,
      row.place && !depth ? make("span", {class: "place", text: row.place}) : null), {row});
    block.append(line);
    if (open) for (const b of below) this.add(block, b, depth + 1);
  }

  /**
   * @param {SourceLine | null} line
   * @param {number} x
   * @param {number} y
   */
  tip(line, x, y) {
    const row = line?.row;
    if (!row?.n && !row?.old?.n) return hideTip();
    const all = this.sorted(row.n ? row : row.old), [top] = all.filter(([reason]) => this.data.reasons[reason].stall);
    /** @type {Pair[]} */
    const pairs = [[this.data.unit + "s", `${grouped(row.n)} (${percent(row.n / this.kernel.n)})`]];
    if (row.did) pairs.push(["counted", row.did]);
    for (const [reason, n] of all.slice(0, 10)) pairs.push([this.data.reasons[reason].name, `${grouped(n)} (${percent(n / row.n)})`]);
    const why = top && this.data.reasons[top[0]];
    this.tipAt = {top: this.page.scrollTop, left: this.page.scrollLeft};
    showTip(x, y, row.place || `line ${row.at}`, this.compared ? this.comparedPairs(row, all) : pairs, why ? `${why.name}: the warp ${why.means}; often: ${why.hint}.` : "");
  }

  /**
   * comparedPairs lists the samples of a row in A and in B, and their shares of the kernel's samples.
   * @param {SourceRow} row
   * @param {[number, number][]} all
   */
  comparedPairs(row, all) {
    const [before, after] = this.shares(row);
    const old = new Map(row.old?.r ?? []), now = new Map(row.r ?? []);
    const reasons = [...new Set([...all.map(([reason]) => reason), ...old.keys()])].slice(0, 10);
    /** @type {Pair[]} */
    const pairs = [["samples", `${grouped(row.old?.n ?? 0)} → ${grouped(row.n)}`], ["share", `${percent(before)} → ${percent(after)}`]];
    for (const r of reasons) {
      pairs.push([this.data.reasons[r].name, `${percent(part(old.get(r) ?? 0, this.kernel.old.n))} → ${percent(part(now.get(r) ?? 0, this.kernel.n))}`]);
    }
    return pairs;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const all = within(this.lines, ".line[tabindex]");
    const at = all.findIndex((line) => line === document.activeElement);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1}[event.key];
    if (to !== undefined && (at >= 0 || event.key === "ArrowDown")) all[Math.max(0, Math.min(all.length - 1, to))]?.focus();
    else if (event.key === "Enter" && at >= 0) within(all[at], "button.twist")[0]?.click();
    else if (event.key === "Escape") this.page.focus();
    else return;
    event.preventDefault();
  }

  all() {
    return /** @type {SourceLine[]} */ (within(this.lines, ".line"));
  }

  hottest() {
    /** @type {SourceLine | null} */
    let best = null;
    for (const line of this.all().filter((l) => !l.classList.contains("inlined"))) if (this.weight(line.row) > (best ? this.weight(best.row) : 0)) best = line;
    best?.scrollIntoView({block: "center"});
    best?.focus({preventScroll: true});
    this.page.scrollLeft = 0; // lines are wider than the page
  }

  /** nextMatch goes to the next line whose text has what is searched for. */
  nextMatch() {
    nextLine(this.all(), state.query);
  }
}
