// @ts-check
// The scopes inside of kernels: how much of the kernel's time warps were in each, how that varies over warps and blocks, and over multiprocessors.

import {draw, make, th} from "./elements.js";
import {grouped, number, percent, quantity} from "./format.js";
import {label} from "./names.js";
import {state} from "./state.js";

const headings = [
  ["share", "of the cycles of all recorded warps, inner scopes included"],
  ["own", "the same without inner scopes"],
  ["cycles", "sum over warps, blocks and launches"],
  ["time", "that a warp of the scope was in it in one block, on average"],
  ["count", "how often warps were in the scope"],
  ["p50", "median of the cycles of a single warp in one block of one launch"],
  ["p95", "95 of 100 warps in a block took fewer cycles"],
  ["max", "most cycles of a single warp in one block"],
  ["warps and blocks", "how many warps took how many cycles in a block"],
  ["SMs", "cycles of the busiest multiprocessor over the mean; a bar for each multiprocessor"],
];

export class Inside {
  /** @param {HTMLElement} panel */
  constructor(panel) {
    panel.append(make("div", {class: "page inside"}, make("h2", {class: "unseen"}, "Inside"), ...state.report.inside.map((k) => this.kernel(k))));
  }

  show() {}

  /** @param {InsideKernel} k */
  kernel(k) {
    const name = label(k.name);
    return make("section", {class: "card"}, make("header", {}, make("h2", {text: name})),
      ...k.facts.map((text) => make("p", {class: "fact", text})), ...k.notes.map((text) => make("p", {class: "fact note", text})),
      make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": name}, make("table", {class: "plain"},
        make("thead", {}, make("tr", {}, make("th", {class: "wide", scope: "col", text: "Scope"}), ...headings.map(([text, title]) => {
          const head = th(text);
          head.title = title;
          return head;
        }))),
        make("tbody", {}, ...k.rows.map((s) => this.row(s))))));
  }

  /** @param {InsideScope} s */
  row(s) {
    const bar = make("i");
    bar.style.width = `${Math.min(100 * (s.share ?? 0), 100)}%`;
    const name = make("td", {class: "wide"}, make("span", {class: "name", text: label(s.name)}), s.at ? make("span", {class: "muted", text: s.at}) : null,
      make("span", {class: "share", "aria-hidden": "true"}, bar));
    name.style.paddingLeft = `${16 + 16 * s.depth}px`;
    const cells = [percent(s.share ?? NaN), percent(s.own ?? NaN), this.whole(s.cycles), quantity(s.time ?? NaN, "ns"), this.whole(s.count), this.whole(s.p50), this.whole(s.p95), this.whole(s.max)];
    return make("tr", {}, name, ...cells.map((text) => make("td", {class: "number", text})),
      make("td", {}, this.bars(s.bars, `from ${grouped(s.least)} to ${this.whole(s.max)} cycles`)),
      make("td", {class: "number"}, number(s.factor ?? NaN), this.bars(s.sms, `${s.sms.length} multiprocessors; the busiest is ${s.most}`)));
  }

  /** @param {number | null} v */
  whole(v) {
    return v === null ? "-" : grouped(Math.round(v));
  }

  /**
   * bars draws parts of the highest bar next to each other.
   * @param {number[]} parts
   * @param {string} title
   */
  bars(parts, title) {
    if (!parts.length) return "";
    const width = 96 / parts.length;
    return draw("svg", {class: "bars", viewBox: "0 0 96 20", role: "img", "aria-label": title}, draw("title", {text: title}),
      ...parts.map((part, i) => draw("rect", {x: i * width, y: 20 - 20 * part, width: width * 0.9, height: 20 * part})));
  }
}
