// @ts-check
// The source: where inside a kernel warps spend their time, by line and by instruction; of two profiles, by line.

import {choice, icon, make, segments} from "./elements.js";
import {digits, percent} from "./format.js";
import {state} from "./state.js";
import {hideTip, showTip} from "./tip.js";

/** part is a share of samples; none of nothing. */
function part(n, of) { return of ? n / of : 0; }

export class Source {
  constructor(panel) {
    this.data = state.report.source;
    this.kernel = this.data.kernels[0];
    this.mode = "lines";
    this.open = new Set(); // rows whose inlined lines are shown
    this.compared = this.data.old !== undefined;
    const kernels = this.data.kernels.map((k, i) => [String(i), [`${k.name} – ${this.ofAll(k)}`, ...(k.label ? [k.label] : this.ownFacts(k))].filter(Boolean).join(" · ")]);
    this.modes = make("span");
    panel.append(make("div", {class: "bar"},
      choice("Kernel", kernels, "0", (i) => {
        this.kernel = this.data.kernels[i];
        this.open.clear();
        this.fill();
      }),
      this.modes,
      this.best = make("button", {type: "button", class: "button", onclick: () => this.hottest()}, this.compared ? "Largest change" : "Hottest line"),
      this.data.more ? make("span", {class: "muted", text: `${digits(this.data.more)} more kernels have few samples`}) : null));
    this.page = make("div", {class: "source" + (this.compared ? " compared" : ""), tabindex: "0", role: "region", "aria-label": "Source with samples"});
    panel.append(this.page);
    this.page.addEventListener("pointerover", (e) => this.tip(e.target.closest(".line"), e.clientX, e.clientY));
    this.page.addEventListener("pointerleave", hideTip);
    this.page.addEventListener("scroll", () => {
      // The event comes a frame late: a tip that was shown after the page had moved stays.
      if (this.page.scrollTop !== this.tipAt?.top || this.page.scrollLeft !== this.tipAt?.left) hideTip();
    });
    this.page.addEventListener("focusin", (e) => {
      const row = e.target.closest(".line"), box = row?.getBoundingClientRect();
      if (row && e.target.matches(":focus-visible")) this.tip(row, box.left + 200, box.top);
    });
    this.page.addEventListener("focusout", hideTip);
    this.page.addEventListener("keydown", (e) => this.key(e));
    this.fill();
  }

  show() {}

  /** ownFacts are the facts that distinguish a kernel from others of its name: registers, for example. */
  ownFacts(k) {
    const others = this.data.kernels.filter((o) => o !== k && o.name === k.name);
    return others.length ? k.facts.filter((fact) => others.some((o) => !o.facts.includes(fact))) : [];
  }

  /** ofAll is the part that a kernel has of all samples, in both profiles if there are two. */
  ofAll(k) {
    const now = percent(part(k.n, this.data.samples));
    return this.compared ? `${percent(part(k.old.n, this.data.old))} → ${now}` : now;
  }

  /** shares of a row, A's and B's; of a single profile only the second counts. */
  shares(row) {
    return [part(row.old?.n ?? 0, this.kernel.old?.n ?? 0), part(row.n, this.kernel.n)];
  }

  /** weight is what rows are compared by: samples, or how far a share has moved. */
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
      make("p", {text: [`${this.compared ? digits(k.old.n) + " → " : ""}${digits(k.n)} samples, ${this.ofAll(k)} of all`, ...k.facts].join(" · ")}),
      ...k.paths.map((p) => make("p", {class: "muted name", text: (k.paths.length > 1 ? percent(p.n / k.n) + " " : "") + p.name})),
      ...(this.compared ? [this.mix(k.old, "A"), this.mix(k, "B")] : [this.mix(k)]), k.advice ? make("p", {}, make("b", {text: "Hint: "}), k.advice + ".") : null,
      this.notes([...k.notes, this.data.about].filter(Boolean)));
    this.lines = make("div", {class: "lines"});
    this.page.replaceChildren(this.head, this.lines);
    this.body();
  }

  /** notes folds sentences away that would push the source below the edge of the window; one of them stands as it is. */
  notes(all) {
    if (all.length < 2) return all.length ? make("p", {class: "muted", text: all[0]}) : null;
    return make("details", {class: "muted"}, make("summary", {text: `${all.length} notes on these numbers`}), ...all.map((text) => make("p", {text})));
  }

  /** mix is a bar of the reasons, with a legend that says the same in words. */
  mix(k, side) {
    const all = this.sorted(k);
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

  /** colour returns a colour for each stall reason; grey for samples in which the warp issued. */
  colour(reason) {
    const {stall} = this.data.reasons[reason];
    if (!stall) return "var(--strong-line)";
    return `hsl(${(reason * 137 + 20) % 360} 55% 55%)`;
  }

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
    if (this.mode === "lines" && k.noLine) this.lines.append(make("p", {class: "muted", text: `${digits(k.noLine)} samples are of instructions without line information`}));
  }

  /** add adds a row, and if it is open what was inlined there. */
  add(block, row, depth) {
    if (row.gap) block.append(make("div", {class: "gap", "aria-hidden": "true", text: "⋮"}));
    const [before, share] = this.shares(row), sampled = row.n || row.old?.n;
    const inlined = row.inlined?.length > 0, open = this.open.has(row);
    const bar = make("i", {class: this.compared ? (share > before ? "more" : "less") : ""});
    bar.style.width = (this.weight(row) / this.widest) * 100 + "%";
    const main = sampled ? this.sorted(row.n ? row : row.old).find(([reason]) => this.data.reasons[reason].stall) : null;
    const text = make("span", {class: "text", text: row.text || (depth ? row.place : " ")});
    if (depth) {
      text.style.paddingLeft = depth * 24 + "px";
      if (row.text?.length > 130) text.title = row.text; // it is cut: the matrix instruction of a Hopper names 128 registers
    }
    const hot = Math.max(before, share) >= 0.1 && !depth;
    const line = make("div", {class: "line" + (hot ? " hot" : "") + (sampled ? "" : " idle") + (depth ? " inlined" : ""), tabindex: sampled ? "-1" : false},
      ...(this.compared ? [
        make("span", {class: "count", text: row.old?.n ? digits(row.old.n) : ""}),
        make("span", {class: "part", text: row.old?.n ? percent(before) : ""}),
      ] : []),
      make("span", {class: "count", text: row.n ? digits(row.n) : ""}),
      make("span", {class: "part", text: row.n ? percent(share) : ""}),
      this.compared ? make("span", {class: "part change", text: sampled ? percent(share - before, true) : ""}) : null,
      make("span", {class: "heat", "aria-hidden": "true"}, bar),
      make("span", {class: "why", text: main ? this.data.reasons[main[0]].name : ""}),
      inlined ? make("button", {type: "button", class: "twist", "aria-expanded": String(open), "aria-label": `unfold ${row.at}`, onclick: () => {
        if (!this.open.delete(row)) this.open.add(row);
        const top = this.page.scrollTop, focus = row;
        this.body();
        this.page.scrollTop = top;
        for (const l of this.lines.querySelectorAll(".line")) if (l.row === focus) l.querySelector(".twist")?.focus();
      }}, icon("M5 2l6 6-6 6")) : make("span", {class: "twist"}),
      make("span", {class: "at", text: row.at}), text,
      row.place && !depth ? make("span", {class: "place", text: row.place}) : null);
    line.row = row;
    block.append(line);
    if (open) for (const below of row.inlined) this.add(block, below, depth + 1);
  }

  tip(line, x, y) {
    const row = line?.row;
    if (!row?.n && !row?.old?.n) return hideTip();
    const all = this.sorted(row.n ? row : row.old), [top] = all.filter(([reason]) => this.data.reasons[reason].stall);
    const pairs = this.compared ? this.comparedPairs(row, all) :
      [["samples", `${digits(row.n)} (${percent(row.n / this.kernel.n)})`], ...all.slice(0, 10).map(([reason, n]) => [this.data.reasons[reason].name, `${digits(n)} (${percent(n / row.n)})`])];
    const why = top && this.data.reasons[top[0]];
    this.tipAt = {top: this.page.scrollTop, left: this.page.scrollLeft};
    showTip(x, y, row.place || `line ${row.at}`, pairs, why ? `${why.name}: the warp ${why.means}; often: ${why.hint}.` : "");
  }

  /** comparedPairs says what a row has in A and in B: shares of the kernel's samples there. */
  comparedPairs(row, all) {
    const [before, after] = this.shares(row);
    const old = new Map(row.old?.r ?? []), now = new Map(row.r ?? []);
    const reasons = [...new Set([...all.map(([reason]) => reason), ...old.keys()])].slice(0, 10);
    return [["samples", `${digits(row.old?.n ?? 0)} → ${digits(row.n)}`], ["share", `${percent(before)} → ${percent(after)}`],
      ...reasons.map((r) => [this.data.reasons[r].name, `${percent(part(old.get(r) ?? 0, this.kernel.old.n))} → ${percent(part(now.get(r) ?? 0, this.kernel.n))}`])];
  }

  key(event) {
    const all = [...this.lines.querySelectorAll(".line[tabindex]")];
    const at = all.indexOf(document.activeElement);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1}[event.key];
    if (to !== undefined && (at >= 0 || event.key === "ArrowDown")) all[Math.max(0, Math.min(all.length - 1, to))]?.focus();
    else if (event.key === "Enter" && at >= 0) all[at].querySelector("button.twist")?.click();
    else if (event.key === "Escape") this.page.focus();
    else return;
    event.preventDefault();
  }

  hottest() {
    let best = null;
    for (const line of this.lines.querySelectorAll(".line:not(.inlined)")) if (this.weight(line.row) > (best ? this.weight(best.row) : 0)) best = line;
    best?.scrollIntoView({block: "center"});
    best?.focus({preventScroll: true});
    this.page.scrollLeft = 0; // lines are wider than the page
  }

  /** nextMatch goes to the next line whose text has what is searched for. */
  nextMatch() {
    const wanted = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...this.lines.querySelectorAll(".line")], from = all.findIndex((l) => l.classList.contains("found"));
    all[from]?.classList.remove("found");
    for (let step = 1; step <= all.length; step++) {
      const line = all[(from + step + all.length) % all.length];
      if (!wanted.every((w) => line.row.text.toLowerCase().includes(w))) continue;
      line.classList.add("found");
      line.scrollIntoView({block: "center"});
      return;
    }
  }
}
