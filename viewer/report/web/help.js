// @ts-check
// The dialog with the keys.

import {byID, make} from "./elements.js";

const help = [
  ["Everywhere", [["1 … 9", "go to a tab"], ["/", "search; Enter goes to the next match, Esc clears"], ["word word", "names with all of these words"], ["forward/matmul", "matmul below forward, directly or not: parts between slashes are searched along the call path"], ["t", "theme: as the system, light, dark"], ["?", "this help"]]],
  ["Flame graph", [["click, Enter", "zoom to a frame; again to zoom out"], ["Esc, Backspace", "zoom out one level"], ["↑ ↓", "caller, largest callee"], ["← →", "frames next to it"], ["Home", "the root"], ["Show: bottom up", "frames that take time themselves, and below each its callers"], ["Show: callers and callees", "all frames of one name, what calls them above and what they call below; click, ↑ and ↓ go on from there, Esc to the call tree"]]],
  ["Table", [["↑ ↓ PgUp PgDn Home End", "move between rows"], ["→ ←", "expand, collapse, go to the caller"], ["Enter", "show in the flame graph"], ["click on a heading", "sort down, up, and as it ran"]]],
  ["Timeline", [["drag, a d, Shift-wheel", "move"], ["Ctrl-wheel, pinch, w s, + −", "zoom"], ["← →", "slice before, slice after"], ["↑ ↓", "row above, row below"], ["Enter, double click", "zoom to the slice"], ["Esc", "show all"]]],
  ["IR", [["click, ↑ ↓", "mark what came from the same line of the source, on both sides"], ["Left, Right", "another compilation there: what differs is marked"]]],
  ["Source", [["↑ ↓", "line before, line after, with its reasons"], ["Enter", "show what was inlined there"]]],
  ["Roofline", [["Tab", "from kernel to kernel, the largest first"], ["Enter, click", "show in the flame graph"]]],
];

export function openHelp() {
  const dialog = /** @type {HTMLDialogElement} */ (byID("help"));
  const close = make("button", {type: "button", class: "button", onclick: () => dialog.close()}, "Close");
  dialog.replaceChildren(make("header", {}, make("h2", {id: "help-title", text: "Help"}), close));
  for (const [title, keys] of help) {
    const list = make("dl");
    for (const [key, text] of keys) list.append(make("dt", {}, make("kbd", {text: key})), make("dd", {text}));
    dialog.append(make("h3", {text: title}), list);
  }
  dialog.showModal();
}
