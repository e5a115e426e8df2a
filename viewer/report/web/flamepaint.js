// @ts-check
// One picture of a graph on the flame graph's canvas. Its root is on top, or, for callers, at the bottom.

import {css} from "./colour.js";
import {changeText, nodeColour} from "./flamecolour.js";
import {fitMiddle} from "./format.js";
import {layout} from "./layout.js";
import {label} from "./names.js";
import {state} from "./state.js";
import {childrenOf} from "./tree.js";

export const flameRow = 21;

/** Icicle is a graph with its layout and the part of it that is in view. */
export class Icicle {
  /**
   * @param {Graph} graph
   * @param {string} order as layout takes it
   * @param {boolean} upwards the root is at the bottom
   */
  constructor(graph, order, upwards = false) {
    this.graph = graph;
    this.upwards = upwards;
    const {width, x, depths} = layout(graph, order);
    this.width = width;
    this.x = x;
    this.depths = depths;
    this.top = 0; // row of the root, set by the view
    this.from = 0; // first depth that is painted: the callers of a frame are painted without it
    /** @type {(Uint32Array | null)[]} by depth and pixel: a node narrower than that, plus 1 */
    this.tiny = Array.from({length: depths}, () => null);
    this.view = this.span(0);
  }

  /**
   * span is the part that a node takes of the whole width.
   * @param {number} node
   */
  span(node) {
    return {left: this.x[node], width: this.width[node] || this.width[0] || 1};
  }

  /**
   * rowOf is the row, from the top of the picture, of a depth.
   * @param {number} depth
   */
  rowOf(depth) {
    return this.top + (this.upwards ? -depth : depth);
  }

  /**
   * paint paints what is in sight.
   * @param {CanvasRenderingContext2D} context
   * @param {Box} sight in CSS pixels, of the picture
   * @param {number} letter width of one
   */
  paint(context, sight, letter) {
    const {graph} = this, width = sight.right, scale = width / this.view.width;
    const first = Math.floor(sight.top / flameRow), last = Math.ceil(sight.bottom / flameRow);
    for (let i = 0; i < graph.count;) {
      const x = (this.x[i] - this.view.left) * scale, w = this.width[i] * scale, depth = graph.depth[i], row = this.rowOf(depth);
      if (x > width || x + w < 0 || !(w > 0) || (this.upwards ? row < first : row > last)) {
        i = graph.end[i];
        continue;
      }
      if (w < 1.2) {
        this.markTiny(depth, x, width, i);
        i = graph.end[i];
        continue;
      }
      if (depth >= this.from && row >= first && row <= last) {
        const from = Math.max(0, x), to = Math.min(width, x + w);
        this.paintNode(context, i, from, row * flameRow - sight.top, to - from, letter);
      }
      i++;
    }
    this.paintTiny(context, sight.top);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} node
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} letter
   */
  paintNode(context, node, x, y, w, letter) {
    const found = this.isFound(node), faint = state.matches && !found;
    const {colour, ink} = nodeColour(this.graph, node);
    context.globalAlpha = faint ? 0.3 : 1;
    context.fillStyle = colour;
    context.fillRect(x + 0.5, y + 1, Math.max(0.7, w - 1), flameRow - 1);
    if (found) {
      context.strokeStyle = css.accent;
      context.lineWidth = 1.5;
      context.strokeRect(x + 1, y + 1.5, Math.max(0.5, w - 2), flameRow - 2);
    }
    const letters = Math.floor((w - 10) / letter);
    if (letters >= 2) {
      context.fillStyle = faint ? css.text : ink;
      context.fillText(fitMiddle(this.text(node, letters), letters), x + 6, y + flameRow / 2 + 1, w - 8);
    }
    context.globalAlpha = 1;
  }

  /**
   * isFound reports whether the search matches a node. Of a node that merges frames the name decides.
   * @param {number} node
   */
  isFound(node) {
    const {matches} = state, {graph} = this;
    return matches !== null && (graph.merged ? matches.names[graph.name[node]] : matches.frames[graph.frame[node]]) === 1;
  }

  /**
   * text is the label of a node: its name, and how much it has changed where that fits.
   * @param {number} node
   * @param {number} letters
   */
  text(node, letters) {
    const text = label(this.graph.name[node]), by = changeText(this.graph, node);
    if (!by) return text;
    return text.length + by.length + 2 <= letters || letters > 24 ? fitMiddle(text, letters - by.length - 2) + "  " + by : text;
  }

  /**
   * markTiny remembers that something too narrow to draw is there.
   * @param {number} depth
   * @param {number} x
   * @param {number} width
   * @param {number} node
   */
  markTiny(depth, x, width, node) {
    const known = this.tiny[depth], columns = known?.length === width ? known : (this.tiny[depth] = new Uint32Array(width));
    const at = Math.max(0, Math.min(width - 1, Math.floor(x)));
    if (!columns[at]) columns[at] = node + 1;
  }

  /**
   * paintTiny draws one column of a pixel where there are nodes narrower than that, in the colour of the first.
   * @param {CanvasRenderingContext2D} context
   * @param {number} top
   */
  paintTiny(context, top) {
    this.tiny.forEach((columns, depth) => {
      if (!columns || depth < this.from) return;
      for (let x = 0; x < columns.length; x++) {
        if (!columns[x]) continue;
        const node = columns[x] - 1;
        context.globalAlpha = state.matches && !this.isFound(node) ? 0.3 : 1;
        context.fillStyle = nodeColour(this.graph, node).colour;
        context.fillRect(x, this.rowOf(depth) * flameRow - top + 1, 1, flameRow - 1);
      }
      context.globalAlpha = 1;
      columns.fill(0);
    });
  }

  /**
   * outline draws a frame around a node.
   * @param {CanvasRenderingContext2D} context
   * @param {number} node
   * @param {Box} sight
   * @param {boolean} solid
   */
  outline(context, node, sight, solid) {
    const scale = sight.right / this.view.width, left = (this.x[node] - this.view.left) * scale;
    const x = Math.max(0, left), w = Math.min(sight.right, left + this.width[node] * scale) - x;
    if (w <= 0) return;
    context.strokeStyle = css.text;
    context.lineWidth = 2;
    context.setLineDash(solid ? [] : [4, 3]);
    context.strokeRect(x + 1, this.rowOf(this.graph.depth[node]) * flameRow - sight.top + 1.5, Math.max(1, w - 2), flameRow - 2);
    context.setLineDash([]);
  }

  /**
   * at finds the node in a row of the picture, at a part of its width; -1 for none.
   * @param {number} row
   * @param {number} share
   */
  at(row, share) {
    const {graph} = this, depth = this.upwards ? this.top - row : row - this.top, x = this.view.left + share * this.view.width;
    if (depth < this.from) return -1;
    let node = 0;
    while (graph.depth[node] < depth) {
      let below = -1;
      childrenOf(graph, node, (c) => {
        if (x >= this.x[c] && x < this.x[c] + this.width[c]) below = c;
      });
      if (below < 0) return -1;
      node = below;
    }
    return x < this.x[node] || x > this.x[node] + this.width[node] ? -1 : node;
  }

  /**
   * widestChild is the largest node below another, -1 for none.
   * @param {number} node
   */
  widestChild(node) {
    let best = -1;
    childrenOf(this.graph, node, (c) => {
      if (best < 0 || this.width[c] > this.width[best]) best = c;
    });
    return best;
  }

  /**
   * sibling finds the next node to the left or right with the same parent.
   * @param {number} node
   * @param {number} direction
   */
  sibling(node, direction) {
    const {graph} = this;
    if (graph.parent[node] < 0) return -1;
    let best = -1;
    childrenOf(graph, graph.parent[node], (c) => {
      const away = (this.x[c] - this.x[node]) * direction;
      if (c !== node && this.width[c] > 0 && away > 0 && (best < 0 || away < (this.x[best] - this.x[node]) * direction)) best = c;
    });
    return best;
  }
}
