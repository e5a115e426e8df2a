// @ts-check
// Where the frames of a flame graph lie, in units of the metric from the left edge. This module needs no page.

import {childrenOf} from "./tree.js";

/**
 * layout gives every node of a graph its place. A node is as wide as its value, of two profiles the larger one, and at least as
 * wide as what is below it.
 * @param {Graph} graph
 * @param {string} order "time": children lie as they are; "size": the widest first
 */
export function layout(graph, order) {
  const {count, parent, depth} = graph;
  const width = new Float64Array(count), x = new Float64Array(count), next = new Float64Array(count);
  let depths = 0;
  for (let i = count - 1; i >= 0; i--) {
    const own = Math.max(graph.now[i] || 0, graph.old?.[i] || 0);
    if (own > width[i]) width[i] = own;
    if (i > 0) width[parent[i]] += width[i];
    if (depth[i] >= depths) depths = depth[i] + 1;
  }
  const place = (/** @type {number} */ i) => {
    next[i] = x[i] = next[parent[i]];
    next[parent[i]] += width[i];
  };
  for (let i = 0; i < count; i++) {
    if (order === "time") {
      if (i > 0) place(i);
      continue;
    }
    /** @type {number[]} */
    const children = [];
    childrenOf(graph, i, (c) => children.push(c));
    for (const c of children.sort((a, b) => width[b] - width[a])) place(c);
  }
  return {width, x, depths};
}
