import {numberFrames} from "../tree.js";

/** treeOf makes a tree as a page has it from nested arrays: name, value, frames below. */
export function treeOf(root) {
  const strings = [], name = [], depth = [], values = [];
  const add = ([text, value, ...below], level) => {
    if (!strings.includes(text)) strings.push(text);
    name.push(strings.indexOf(text));
    depth.push(level);
    values.push(value);
    for (const b of below) add(b, level + 1);
  };
  add(root, 0);
  return {strings, tree: {...numberFrames(depth), name, kind: name.map(() => 0), side: null, values: [Float64Array.from(values)]}};
}
