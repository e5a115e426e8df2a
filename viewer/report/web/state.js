// @ts-check
// What the person is looking at, shared by all views.

import {largestFrame} from "./tree.js";

/** @type {State} */
export const state = {
  report: /** @type {any} */ (null), // until main.js has read it
  tab: "summary",
  metric: /** @type {any} */ (null),
  node: 0,
  zoom: 0,
  query: "",
  matches: null,
  colour: "kind",
  theme: "system",
  span: null,
};

/** @type {((changed: Changed) => void)[]} */
const watchers = [];

/**
 * watch calls back with the names of what has changed.
 * @param {(changed: Changed) => void} callback
 */
export function watch(callback) {
  watchers.push(callback);
}

/**
 * change sets parts of the state and calls the functions that were passed to watch.
 * @param {Partial<State>} parts
 */
export function change(parts) {
  const keys = /** @type {(keyof State)[]} */ (Object.keys(parts));
  const changed = new Set(keys.filter((k) => state[k] !== parts[k]));
  if (!changed.size) return;
  Object.assign(state, parts);
  for (const w of watchers) w(changed);
}

/**
 * touches reports whether any of some parts of the state has changed.
 * @param {Changed} changed
 * @param {(keyof State)[]} parts
 */
export function touches(changed, ...parts) {
  return parts.some((p) => changed.has(p));
}

/**
 * openFrame shows a frame in the flame graph, and nothing for -1.
 * @param {number} node
 */
export function openFrame(node) {
  if (node >= 0) change({tab: "flame", node, zoom: node});
}

/**
 * frameOfKernel finds the frame of that name with the largest value of the metric.
 * @param {number} name
 */
export function frameOfKernel(name) {
  const {tree} = state.report;
  return largestFrame(tree, tree.values[state.metric.column], name);
}
