// @ts-check
// The colours of the flame graph, its legend, and by how much its frames have changed.

import {changeColour, cividis, kindColour, kinds, rampColour} from "./colour.js";
import {make} from "./elements.js";
import {percent} from "./format.js";
import {sideWord} from "./names.js";
import {state} from "./state.js";

/**
 * nodeColour is the colour of a node. Utilisation is known of frames; of nodes that merge some it is not.
 * @param {Graph} graph
 * @param {number} i
 * @returns {Fill}
 */
export function nodeColour(graph, i) {
  const {report, colour} = state;
  if (colour === "change") return changeColour(ratioOf(graph, i), graph.side ? graph.side[i] : 0);
  if (colour === "util") return rampColour(graph.merged ? NaN : report.tree.values[report.util][graph.frame[i]] / 100);
  return kindColour(graph.kind[i], graph.name[i]);
}

/**
 * ratioOf is by how much a node has changed, as a share of what it was.
 * @param {Graph} graph
 * @param {number} i
 */
function ratioOf({now, old}, i) {
  return old ? (now[i] - old[i]) / old[i] : NaN;
}

/**
 * changeText is by how much a node has changed, in words where there is nothing to divide by.
 * @param {Graph} graph
 * @param {number} i
 */
export function changeText(graph, i) {
  if (!graph.old) return "";
  const ratio = ratioOf(graph, i);
  return sideWord(graph, i) || (Number.isNaN(ratio) ? "" : percent(ratio, true));
}

export function flameLegend() {
  const {report, colour} = state;
  const entry = (/** @type {string} */ c, /** @type {string} */ text) => {
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
    return [make("span", {}, "0 ", ramp, "100% of the roof"), entry(rampColour(NaN).colour, "not known")];
  }
  const present = kinds.map((_, k) => k).filter((k) => report.tree.kind.includes(k));
  return present.map((k) => entry(kindColour(k, 20).colour, kinds[k]));
}
