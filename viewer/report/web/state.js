// @ts-check
// What the person is looking at, shared by all views.

import {largestFrame} from "./tree.js";

export const state = {
  report: null,
  tab: "summary",
  metric: null, // one of report.metrics: rules widths, shares and bars
  node: 0, // chosen frame
  zoom: 0, // frame at the width of the flame graph
  query: "",
  matches: null, // by string: does the name match the query; null without one
  colour: "kind",
  theme: "system",
};

const watchers = [];

/** watch calls back with the names of what has changed. */
export function watch(callback) {
  watchers.push(callback);
}

/** change sets parts of the state and calls the functions that were passed to watch. */
export function change(parts) {
  const changed = new Set(Object.keys(parts).filter((k) => state[k] !== parts[k]));
  if (!changed.size) return;
  Object.assign(state, parts);
  for (const w of watchers) w(changed);
}

/** openFrame shows a frame in the flame graph, and nothing for -1. */
export function openFrame(node) {
  if (node >= 0) change({tab: "flame", node, zoom: node});
}

/** frameOfKernel finds the frame of that name with the largest value of the metric. */
export function frameOfKernel(name) {
  const {tree} = state.report;
  return largestFrame(tree, tree.values[state.metric.column], name);
}
