// @ts-check
// Names as they are shown: shortened, highlighted, with the profile that has them.

import {make} from "./elements.js";
import {partsOf} from "./search.js";
import {state} from "./state.js";

/**
 * label is a frame's name as short as it is known; file:line@function leads with the function.
 * @param {number} name
 */
export function label(name) {
  const {labels, strings, shown} = state.report;
  if (shown[name] === undefined) {
    const text = labels[name] || strings[name];
    const frame = /^([^/]*:\d+)@(.+)$/.exec(text);
    shown[name] = frame ? `${frame[2]}  ${frame[1]}` : text;
  }
  return shown[name];
}

/**
 * nameParts shows a name of which only the first part gives way where there is too little room.
 * @param {string} text
 * @param {(part: string) => Node | string} [show]
 */
export function nameParts(text, show = (part) => part) {
  const tail = text.length > 32 ? 22 : 0;
  if (!tail) return [show(text)];
  return [make("span", {class: "head"}, show(text.slice(0, -tail))), make("span", {class: "tail"}, show(text.slice(-tail)))];
}

/**
 * marked shows a name with the words of the query highlighted.
 * @param {string} name
 * @param {string} query
 */
export function marked(name, query) {
  const span = make("span", {class: "name"});
  const words = partsOf(query).flat();
  const lower = name.toLowerCase();
  let at = 0;
  while (at < name.length && words.length && lower.length === name.length) {
    let next = -1, length = 0;
    for (const w of words) {
      const i = lower.indexOf(w, at);
      if (i >= 0 && (next < 0 || i < next)) [next, length] = [i, w.length];
    }
    if (next < 0) break;
    span.append(name.slice(at, next), make("mark", {text: name.slice(next, next + length)}));
    at = next + length;
  }
  span.append(name.slice(at));
  return span;
}

/**
 * sideName says in words which of two profiles has a frame.
 * @param {number} side
 */
export function sideName(side) {
  return ["", `only in A`, `only in B`][side];
}

/**
 * sideWord is that in one word, "" for one profile or a row that both have.
 * @param {Pick<Rows, "side">} rows
 * @param {number} i
 */
export function sideWord({side}, i) {
  return side ? ["", "gone", "new"][side[i]] : "";
}
