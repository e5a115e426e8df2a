// @ts-check
// The tree of frames, in preorder: parents stand before what is below them.

/**
 * numberFrames finds, from the depths of all frames, the parent of each and its end: one past the last frame below it.
 * @param {ArrayLike<number>} depth
 */
export function numberFrames(depth) {
  const count = depth.length, parent = new Int32Array(count), end = new Int32Array(count).fill(count);
  /** @type {number[]} */
  const open = [];
  for (let i = 0; i < count; i++) {
    while (open.length > depth[i]) end[open.pop() ?? 0] = i;
    parent[i] = open.length ? open[open.length - 1] : -1;
    open.push(i);
  }
  return {count, depth, parent, end};
}

/**
 * pathOf lists a frame and those above it, the root first.
 * @param {Frames} tree
 * @param {number} node
 */
export function pathOf(tree, node) {
  const path = [];
  for (let i = node; i >= 0; i = tree.parent[i]) path.unshift(i);
  return path;
}

/**
 * childrenOf calls visit for every child of a frame.
 * @param {Frames} tree
 * @param {number} node
 * @param {(child: number) => void} visit
 */
export function childrenOf(tree, node, visit) {
  for (let i = node + 1; i < tree.end[node]; i = tree.end[i]) visit(i);
}

/**
 * findFrame finds the frame of a call path in the tree, -1 for none.
 * @param {Tree} tree
 * @param {number[]} names
 */
export function findFrame(tree, names) {
  if (!names.length || tree.name[0] !== names[0]) return -1;
  let node = 0;
  for (const name of names.slice(1)) {
    let below = -1;
    childrenOf(tree, node, (c) => {
      if (below < 0 && tree.name[c] === name) below = c;
    });
    if (below < 0) return -1;
    node = below;
  }
  return node;
}

/**
 * largestFrame finds the frame of that name with the largest value.
 * @param {Tree} tree
 * @param {ArrayLike<number>} values
 * @param {number} name
 */
export function largestFrame(tree, values, name) {
  let best = -1;
  for (let i = 0; i < tree.count; i++) {
    if (tree.name[i] === name && (best < 0 || (values[i] || 0) > (values[best] || 0))) best = i;
  }
  return best;
}
