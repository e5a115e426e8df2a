// @ts-check
// When the GPUs of a timeline had nothing to do, and what the threads that launched the next work did meanwhile.

import {make, th} from "./elements.js";
import {counted, grouped, percent, quantity} from "./format.js";
import {label} from "./names.js";
import {change, state} from "./state.js";

export class Idle {
  /** @param {HTMLElement} panel */
  constructor(panel) {
    const {devices, causes, gaps, more, moreTime} = state.report.idle;
    const idle = devices.reduce((sum, d) => sum + d.idle, 0);
    const causesCard = this.card("What the program did meanwhile", `${quantity(idle, "ns")} idle`, ["At", "doing", "idle", "share", "gaps", "longest"],
      causes.map((c) => [this.place(c.device, c.path), this.doing(c.doing), quantity(c.time, "ns"), percent(c.time / idle), grouped(c.gaps), quantity(c.longest, "ns")]));
    const gapsCard = this.card("Longest gaps", "choose one to see it in the timeline", ["At", "then", "mostly", "idle", "from"],
      gaps.map((g) => [this.place(g.device, g.path), make("span", {class: "name", text: label(g.then)}), [this.doing(g.doing), ` ${percent(g.part / (g.to - g.from))}`],
        this.button(g), quantity(g.from, "ns")]));
    if (more) causesCard.append(make("p", {class: "muted", text: `${counted(more, "more cause")} took ${quantity(moreTime, "ns")}`}));
    panel.append(make("div", {class: "page idle"}, make("h2", {class: "unseen"}, "Idle"), make("div", {class: "columns"}, ...devices.map((d) => this.device(d))), causesCard, gapsCard));
  }

  show() {}

  /** @param {IdleDevice} d */
  device(d) {
    const bar = make("i");
    bar.style.width = `${(100 * d.busy) / d.wall}%`;
    return make("section", {class: "card"}, make("header", {}, make("h2", {text: d.name}), make("span", {class: "muted", text: `busy ${percent(d.busy / d.wall)}`})),
      make("div", {class: "filling"}, make("span", {class: "share", "aria-hidden": "true"}, bar)),
      make("p", {class: "filling", text: `busy ${quantity(d.busy, "ns")}, idle ${quantity(d.idle, "ns")} in ${counted(d.gaps, "gap")}, of ${quantity(d.wall, "ns")}`}),
      ...(d.before || d.after ? [make("p", {class: "filling muted", text: `not counted: ${quantity(d.before, "ns")} before the first work and ${quantity(d.after, "ns")} after the last, where the timeline has no work of this GPU`})] : []));
  }

  /**
   * @param {string} title
   * @param {string} about
   * @param {string[]} headings
   * @param {(string | Node | (string | Node)[])[][]} rows
   */
  card(title, about, headings, rows) {
    const [first, ...others] = headings;
    return make("section", {class: "card"}, make("header", {}, make("h2", {text: title}), make("span", {class: "muted", text: about})),
      make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": title}, make("table", {class: "plain"},
        make("thead", {}, make("tr", {}, make("th", {class: "wide", scope: "col", text: first}), ...others.map((name) => th(name)))),
        make("tbody", {}, ...rows.map(([at, ...cells]) => make("tr", {}, make("td", {class: "wide"}, ...[at].flat()), ...cells.map((cell) => make("td", {class: "number"}, ...[cell].flat()))))))));
  }

  /**
   * place is a call path, the innermost frame first where there is little room.
   * @param {number} device
   * @param {number[]} path
   */
  place(device, path) {
    const {devices} = state.report.idle;
    const text = path.length ? path.map(label).join(" › ") : "outside of scopes";
    return make("span", {class: "name", text: devices.length > 1 ? `${devices[device].name}: ${text}` : text});
  }

  /** @param {number} doing */
  doing(doing) {
    const means = state.report.idle.means[doing];
    return make("abbr", {title: means, text: means.split(":")[0]});
  }

  /** @param {IdleGap} gap */
  button(gap) {
    const around = (gap.to - gap.from) * 0.25;
    return make("button", {type: "button", class: "link", onclick: () => change({tab: "timeline", span: {from: gap.from - around, to: gap.to + around}})}, quantity(gap.to - gap.from, "ns"));
  }
}
