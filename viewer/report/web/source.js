// The source: where inside a kernel warps spend their time, by line and by instruction.

class Source {
  constructor(panel) {
    this.data = state.report.source;
    this.kernel = this.data.kernels[0];
    this.mode = "lines";
    this.open = new Set(); // rows whose inlined lines are shown
    const kernels = this.data.kernels.map((k, i) => [String(i), `${k.name} – ${percent(k.n / this.data.samples)}`]);
    this.modes = make("span");
    panel.append(make("div", {class: "bar"},
      choice("Kernel", kernels, "0", (i) => {
        this.kernel = this.data.kernels[i];
        this.open.clear();
        this.fill();
      }),
      this.modes,
      make("button", {type: "button", class: "button", onclick: () => this.hottest()}, "Hottest line"),
      this.data.more ? make("span", {class: "muted", text: `${digits(this.data.more)} more kernels have few samples`}) : null));
    this.page = make("div", {class: "source", tabindex: "0", role: "region", "aria-label": "Source with samples"});
    panel.append(this.page);
    this.page.addEventListener("pointerover", (e) => this.tip(e.target.closest(".line"), e.clientX, e.clientY));
    this.page.addEventListener("pointerleave", hideTip);
    this.page.addEventListener("scroll", hideTip);
    this.page.addEventListener("focusin", (e) => {
      const row = e.target.closest(".line"), box = row?.getBoundingClientRect();
      if (row && e.target.matches(":focus-visible")) this.tip(row, box.left + 200, box.top);
    });
    this.page.addEventListener("focusout", hideTip);
    this.page.addEventListener("keydown", (e) => this.key(e));
    this.fill();
  }

  show() {}

  fill() {
    const k = this.kernel;
    if (!k.code?.length) this.mode = "lines";
    this.modes.replaceChildren(...(k.code?.length ? [segments("Rows", [["lines", "Source"], ["code", "Instructions"]], this.mode, (mode) => {
      this.mode = mode;
      this.body();
    })] : []));
    this.head = make("div", {class: "source-head"},
      make("h2", {class: "name", text: k.name}),
      make("p", {text: [`${digits(k.n)} samples, ${percent(k.n / this.data.samples)} of all`, ...k.facts].join(" · ")}),
      ...k.paths.map((p) => make("p", {class: "muted name", text: (k.paths.length > 1 ? percent(p.n / k.n) + " " : "") + p.name})),
      this.mix(k), k.advice ? make("p", {}, make("b", {text: "Hint: "}), k.advice + ".") : null,
      ...k.notes.map((text) => make("p", {class: "muted", text})),
      this.data.about ? make("p", {class: "muted", text: this.data.about}) : null);
    this.lines = make("div", {class: "lines"});
    this.page.replaceChildren(this.head, this.lines);
    this.body();
  }

  /** mix is a bar of the reasons, with a legend that says the same in words. */
  mix(k) {
    const all = this.sorted(k);
    const bar = make("div", {class: "mix", "aria-hidden": "true"});
    for (const [reason, n] of all) {
      const part = make("i", {title: `${this.data.reasons[reason].name} ${percent(n / k.n)}`});
      part.style.width = (n / k.n) * 100 + "%";
      part.style.background = this.colour(reason);
      bar.append(part);
    }
    const legend = make("div", {class: "legend"});
    for (const [reason, n] of all.slice(0, 8)) {
      const key = make("i", {"aria-hidden": "true"});
      key.style.background = this.colour(reason);
      const {name, means} = this.data.reasons[reason];
      legend.append(make("span", {title: `the warp ${means}`}, key, `${name} ${percent(n / k.n)}`));
    }
    return make("div", {}, bar, legend);
  }

  /** colour tells reasons apart; progress is grey. */
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
    for (const row of rows) this.widest = Math.max(this.widest, row.n);
    const parts = this.mode === "code" ? [{name: "", rows: k.code}] : k.files;
    if (!parts.length) this.lines.append(make("p", {class: "muted", text: "There is no line information: the compiler was not asked for any (nvcc -lineinfo), or the module is unknown."}));
    for (const part of parts) {
      if (part.name) this.lines.append(make("h3", {class: "name", text: part.name}));
      const block = make("div", {class: "block"});
      for (const row of part.rows) this.add(block, row, 0);
      this.lines.append(block);
    }
    if (this.mode === "lines" && k.noLine) this.lines.append(make("p", {class: "muted", text: `${digits(k.noLine)} samples are of instructions without line information`}));
  }

  /** add adds a row, and if it is open what was inlined there. */
  add(block, row, depth) {
    if (row.gap) block.append(make("div", {class: "gap", "aria-hidden": "true", text: "⋮"}));
    const share = row.n / this.kernel.n, inlined = row.inlined?.length > 0, open = this.open.has(row);
    const bar = make("i");
    bar.style.width = (row.n / this.widest) * 100 + "%";
    const main = row.n ? this.sorted(row).find(([reason]) => this.data.reasons[reason].stall) : null;
    const text = make("span", {class: "text", text: row.text || (depth ? row.place : " ")});
    if (depth) text.style.paddingLeft = depth * 24 + "px";
    const line = make("div", {class: "line" + (share >= 0.1 && !depth ? " hot" : "") + (row.n ? "" : " idle") + (depth ? " inlined" : ""), tabindex: row.n ? "-1" : false},
      make("span", {class: "count", text: row.n ? digits(row.n) : ""}),
      make("span", {class: "part", text: row.n ? percent(share) : ""}),
      make("span", {class: "heat", "aria-hidden": "true"}, bar),
      make("span", {class: "why", text: main ? this.data.reasons[main[0]].name : ""}),
      inlined ? make("button", {type: "button", class: "twist", "aria-expanded": String(open), "aria-label": `inlined at ${row.at}`, onclick: () => {
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
    if (!row?.n) return hideTip();
    const all = this.sorted(row), [top] = all.filter(([reason]) => this.data.reasons[reason].stall);
    const pairs = [["samples", `${digits(row.n)} (${percent(row.n / this.kernel.n)})`], ...all.slice(0, 10).map(([reason, n]) => [this.data.reasons[reason].name, `${digits(n)} (${percent(n / row.n)})`])];
    const why = top && this.data.reasons[top[0]];
    showTip(x, y, row.place || `line ${row.at}`, pairs, why ? `${why.name}: the warp ${why.means}; often: ${why.hint}.` : "");
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
    for (const line of this.lines.querySelectorAll(".line:not(.inlined)")) if (line.row.n > (best?.row.n ?? 0)) best = line;
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
