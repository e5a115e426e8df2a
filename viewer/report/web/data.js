// @ts-check
// What the page carries, unpacked: see pack.go for the layout.

import {inflateHere} from "./inflate.js";
import {numberFrames} from "./tree.js";

/**
 * readReport unpacks the data in a <script> element into strings and flat arrays.
 * @param {Pick<HTMLElement, "textContent" | "dataset">} element
 * @returns {Promise<PageData>}
 */
export async function readReport(element) {
  const bytes = await inflate(fromBase64(element.textContent ?? ""), Number(element.dataset.size));
  const headLength = new DataView(bytes.buffer).getUint32(0, true);
  /** @type {Head} */
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headLength)));
  const section = (/** @type {Section} */ s) => decode(s, bytes.subarray(4 + headLength + s.at, 4 + headLength + s.at + s.size));
  return {
    ...head,
    shown: [], // labels as they were needed
    columns: head.columns.map((c, index) => ({...c, index})),
    tree: readTree(head, section),
    flat: readFlat(head, section),
    timeline: /** @type {TimelineData} */ (head.timeline && readTimeline(head.timeline, section)),
  };
}

/** @param {string} text */
function fromBase64(text) {
  const builtIn = /** @type {any} */ (Uint8Array).fromBase64; // of browsers from 2025 on
  if (builtIn) return builtIn.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * @param {Uint8Array<ArrayBuffer>} packed
 * @param {number} size
 */
async function inflate(packed, size) {
  if (typeof DecompressionStream === "undefined") return inflateHere(packed, size);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * decode reads one section; a missing number is NaN.
 * @param {Section} s
 * @param {Uint8Array} bytes
 */
function decode(s, bytes) {
  switch (s.as) {
    case "whole": return wholeNumbers(bytes, s.count);
    case "optional": return optionalNumbers(wholeNumbers(bytes, s.count));
    case "float": return new Float32Array(unshuffle(bytes, 4));
    case "double": return new Float64Array(unshuffle(bytes, 8));
  }
  throw new Error(`this report has a section of an unknown kind, ${s.as}`);
}

/**
 * wholeNumbers reads numbers of seven bits a byte, the lowest first.
 * @param {Uint8Array} bytes
 * @param {number} count
 */
function wholeNumbers(bytes, count) {
  const all = new Float64Array(count);
  for (let i = 0, at = 0; i < count; i++) {
    let value = 0, factor = 1;
    for (;;) {
      const b = bytes[at++];
      value += (b & 127) * factor;
      if (b < 128) break;
      factor *= 128;
    }
    all[i] = value;
  }
  return all;
}

/**
 * optionalNumbers undoes: 0 is missing, 1 is 0, 2 is -1, 3 is 1, 4 is -2 …
 * @param {Float64Array<ArrayBuffer>} all
 */
function optionalNumbers(all) {
  for (let i = 0; i < all.length; i++) {
    const v = all[i] - 1;
    all[i] = v < 0 ? NaN : v % 2 ? -(v + 1) / 2 : v / 2;
  }
  return all;
}

/**
 * unshuffle undoes: all first bytes of the values, then all second bytes, … which packs better.
 * @param {Uint8Array} bytes
 * @param {number} width
 */
function unshuffle(bytes, width) {
  const count = bytes.length / width;
  const all = new Uint8Array(bytes.length);
  for (let b = 0, at = 0; b < width; b++) {
    for (let i = 0; i < count; i++) all[i * width + b] = bytes[at++];
  }
  return all.buffer;
}

/**
 * readTree gives every frame, in preorder: where it stands, name (an index of strings), kind, side (of a comparison), and values by column.
 * @param {Head} head
 * @param {ReadSection} section
 */
function readTree(head, section) {
  return {
    ...numberFrames(section(head.tree.depth)),
    name: section(head.tree.name),
    kind: section(head.tree.kind),
    side: head.tree.side ? section(head.tree.side) : null,
    values: head.tree.values.map(section),
  };
}

/**
 * readFlat gives one row for each kernel name.
 * @param {Head} head
 * @param {ReadSection} section
 */
function readFlat(head, section) {
  return {
    count: head.flat.count,
    name: section(head.flat.name),
    side: head.flat.side ? section(head.flat.side) : null,
    values: head.flat.values.map(section),
  };
}

/**
 * readTimeline gives rows of slices in order of start, in ns since the first, and call paths as a trie.
 * @param {TimelineHead} t
 * @param {ReadSection} section
 */
function readTimeline(t, section) {
  const rows = t.rows.map((r) => readSlices(r, section));
  return {
    ...t, rows,
    counters: (t.counters ?? []).map((c) => readCounter(c, section)),
    pathName: section(t.pathName), pathParent: section(t.pathParent),
    flows: {count: t.flows.count, fromRow: section(t.flows.fromRow), from: section(t.flows.from), toRow: section(t.flows.toRow), to: section(t.flows.to)},
  };
}

/**
 * @param {CounterHead} counter
 * @param {ReadSection} section
 */
function readCounter(counter, section) {
  const at = section(counter.at), value = section(counter.value);
  let most = 0, time = 0;
  for (let i = 0; i < at.length; i++) {
    time = at[i] += time;
    most = Math.max(most, value[i]);
  }
  return {name: counter.name, at, value, most, top: 0};
}

/**
 * @param {SlicesHead} row
 * @param {ReadSection} section
 */
function readSlices(row, section) {
  const start = section(row.start), duration = section(row.duration);
  const busy = new Float64Array(row.count + 1); // time covered by the slices before this one
  let at = 0;
  for (let i = 0; i < row.count; i++) {
    at = start[i] += at;
    busy[i + 1] = busy[i] + duration[i];
  }
  const kind = section(row.kind);
  return {
    ...row, start, duration, busy, kind,
    works: kind.some((k) => k >= 2 && k <= 5), // kernels, graphs, copies, fills; not scopes that a tool shows on a stream
    name: section(row.name), path: section(row.path), bytes: section(row.bytes),
  };
}
