// @ts-check
// The tip at the pointer.

import {byID, make} from "./elements.js";

/**
 * showTip puts lines at the pointer: a name, pairs, a sentence.
 * @param {number} x
 * @param {number} y
 * @param {string} name
 * @param {Pair[]} pairs
 * @param {string} [sentence]
 */
export function showTip(x, y, name, pairs, sentence = "") {
  const tip = byID("tip");
  const list = make("dl", {}, ...pairs.flatMap(([k, v]) => [make("dt", {text: k}), make("dd", {text: v})]));
  tip.replaceChildren(make("div", {class: "name", text: name}), list, ...(sentence ? [make("p", {text: sentence})] : []));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth ? x - box.width - 10 : x + 14;
  const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

export function hideTip() {
  byID("tip").hidden = true;
}
