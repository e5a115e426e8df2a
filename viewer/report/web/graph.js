// @ts-check
// The graphs that the flame graph draws. The call tree is one; the others merge frames of one name: from the frame that does the
// work up to its callers, or around all frames of one name. This module needs no page.

import {numberFrames} from "./tree.js";

// A chain of 10,000 frames that all take time would have 50 million callers: bottomUp follows this many of each frame, which is more than call paths have in practice.
export const mostCallers = 64;

/**
 * topDown is the call tree itself: node i is frame i.
 * @param {Tree} tree
 * @param {Metric} metric
 * @returns {Graph}
 */
export function topDown(tree, metric) {
  const {count, depth, parent, end, name, kind, side} = tree;
  const frame = Int32Array.from({length: count}, (_, i) => i);
  return {count, depth, parent, end, name, kind, side, frame, merged: false, ...metricOf(tree, metric)};
}

/**
 * bottomUp has, below the root, the frames with a value of their own, and below each of those the frames that called it. Its first
 * level sums up the own values of all frames of one name.
 * @param {Tree} tree
 * @param {Metric} metric
 */
export function bottomUp(tree, metric) {
  const {now, old} = metricOf(tree, metric);
  const own = ownOf(tree, now), ownOld = old && ownOf(tree, old);
  const merged = new Merged(tree, 0);
  merged.nodes[0].most = Infinity; // the root is the tree's, whatever it sums up
  for (let i = 0; i < tree.count; i++) {
    const a = own[i], b = ownOld ? ownOld[i] : 0;
    if (!(a > 0) && !(b > 0)) continue;
    merged.count(0, i, a, b);
    let node = merged.add(0, i, a, b), levels = mostCallers;
    let f = tree.parent[i];
    for (; f > 0 && levels > 0; f = tree.parent[f], levels--) node = merged.add(node, f, a, b);
    if (f > 0) merged.nodes[node].cut = 1;
  }
  return merged.graph(old !== null);
}

/**
 * isCut reports whether callers are missing below a node of bottomUp.
 * @param {Graph} graph
 * @param {number} node
 */
export function isCut(graph, node) {
  return graph.cut !== undefined && graph.cut.subarray(node, graph.end[node]).includes(1);
}

/**
 * callees merges the frames of one name and what is below them. Of frames that call themselves only the outermost count, so that
 * the root has the inclusive value of the name.
 * @param {Tree} tree
 * @param {Metric} metric
 * @param {number} name
 */
export function callees(tree, metric, name) {
  const {now, old} = metricOf(tree, metric);
  const tops = outermost(tree, name), merged = new Merged(tree, tops[0]), nodes = new Int32Array(tree.count);
  for (const top of tops) {
    merged.count(0, top, now[top], old ? old[top] : 0);
    for (let i = top + 1; i < tree.end[top]; i++) {
      nodes[i] = merged.add(tree.parent[i] === top ? 0 : nodes[tree.parent[i]], i, now[i], old ? old[i] : 0);
    }
  }
  return merged.graph(old !== null);
}

/**
 * callers merges the frames of one name, and above them those that called them, with the value that they have of it.
 * @param {Tree} tree
 * @param {Metric} metric
 * @param {number} name
 */
export function callers(tree, metric, name) {
  const {now, old} = metricOf(tree, metric);
  const tops = outermost(tree, name), merged = new Merged(tree, tops[0]);
  for (const top of tops) {
    const a = now[top], b = old ? old[top] : 0;
    merged.count(0, top, a, b);
    let node = 0;
    for (let f = tree.parent[top]; f >= 0; f = tree.parent[f]) node = merged.add(node, f, a, b);
  }
  return merged.graph(old !== null);
}

/**
 * outermost lists the frames of a name that have no other of that name above them.
 * @param {Tree} tree
 * @param {number} name
 */
function outermost(tree, name) {
  const found = [];
  for (let i = 0; i < tree.count; i = tree.name[i] === name ? tree.end[i] : i + 1) if (tree.name[i] === name) found.push(i);
  return found;
}

/**
 * @param {Tree} tree
 * @param {Metric} metric
 */
function metricOf(tree, metric) {
  return {now: tree.values[metric.column], old: metric.old >= 0 ? tree.values[metric.old] : null};
}

/**
 * ownOf is the part of each value that no frame below has. Inclusive values are sums of floating point numbers: what is left of
 * one by rounding is nothing.
 * @param {Tree} tree
 * @param {Numbers} values
 */
function ownOf(tree, values) {
  const own = Float64Array.from(values, (v) => v || 0);
  for (let i = 1; i < tree.count; i++) own[tree.parent[i]] -= values[i] || 0;
  for (let i = 0; i < tree.count; i++) if (own[i] < 1e-9 * values[i]) own[i] = 0;
  return own;
}

/** Merged is a graph in the making: children of a node that have the same name are one. */
class Merged {
  /**
   * @param {Tree} tree
   * @param {number} root frame that names the root
   */
  constructor(tree, root) {
    this.tree = tree;
    /** @type {Map<number, number>} nodes by parent and name */
    this.index = new Map();
    /** @type {{frame: number, most: number, now: number, old: number, side: number, cut: number, below: number[]}[]} */
    this.nodes = [{frame: root, most: 0, now: 0, old: 0, side: -1, cut: 0, below: []}];
  }

  /**
   * add adds a value to the child of a node that has the name of a frame, and returns that child.
   * @param {number} parent
   * @param {number} frame
   * @param {number} now
   * @param {number} old
   */
  add(parent, frame, now, old) {
    const key = parent * 2 ** 24 + this.tree.name[frame];
    let node = this.index.get(key);
    if (node === undefined) {
      node = this.nodes.length;
      this.index.set(key, node);
      this.nodes.push({frame, most: 0, now: 0, old: 0, side: -1, cut: 0, below: []});
      this.nodes[parent].below.push(node);
    }
    this.count(node, frame, now, old);
    return node;
  }

  /**
   * count adds a value to a node, which remembers the frame with the largest.
   * @param {number} node
   * @param {number} frame
   * @param {number} now
   * @param {number} old
   */
  count(node, frame, now, old) {
    const n = this.nodes[node], most = Math.max(now || 0, old || 0), side = this.tree.side ? this.tree.side[frame] : 0;
    n.now += now || 0;
    n.old += old || 0;
    n.side = n.side === -1 || n.side === side ? side : 0;
    if (most > n.most) [n.frame, n.most] = [frame, most];
  }

  /**
   * graph is what was merged, in preorder, the largest child of a node first.
   * @param {boolean} compared
   * @returns {Graph}
   */
  graph(compared) {
    const {tree, nodes} = this, count = nodes.length;
    const depth = new Int32Array(count), name = new Int32Array(count), kind = new Int32Array(count), side = new Int32Array(count), frame = new Int32Array(count), cut = new Uint8Array(count);
    const now = new Float64Array(count), old = new Float64Array(count);
    const size = (/** @type {number} */ n) => Math.max(nodes[n].now, nodes[n].old);
    const pending = [{n: 0, level: 0}];
    for (let i = 0, next = pending.pop(); next; i++, next = pending.pop()) {
      const node = nodes[next.n], level = next.level;
      depth[i] = level;
      frame[i] = node.frame;
      name[i] = tree.name[node.frame];
      kind[i] = tree.kind[node.frame];
      side[i] = Math.max(0, node.side);
      now[i] = node.now;
      old[i] = node.old;
      cut[i] = node.cut;
      const below = node.below.sort((a, b) => size(b) - size(a));
      for (let k = below.length - 1; k >= 0; k--) pending.push({n: below[k], level: level + 1}); // the last is the next
    }
    return {...numberFrames(depth), name, kind, frame, cut, merged: true, side: compared ? side : null, now, old: compared ? old : null};
  }
}
