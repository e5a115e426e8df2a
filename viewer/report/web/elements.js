// @ts-check
// Elements of the page. Texts are inserted as text nodes.

/**
 * make builds an element. It inserts text as text nodes only, so that no name in a profile is parsed as markup.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes names beginning with "on" are listeners, "text" is the text
 * @param {Child[]} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAll(element, attributes);
  for (const c of children) if (c) element.append(c);
  return element;
}

/**
 * draw is make for SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {(Node | string)[]} children
 */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAll(element, attributes);
  element.append(...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function setAll(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "text") element.textContent = value;
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
}

/**
 * byID finds an element of page.html, or one that main.js has made.
 * @param {string} id
 */
export function byID(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * say announces a text to screen readers.
 * @param {string} text
 */
export function say(text) {
  byID("live").textContent = text;
}

/**
 * within lists the elements of another that a selector finds.
 * @param {Element} parent
 * @param {string} selector
 */
export function within(parent, selector) {
  return /** @type {HTMLElement[]} */ ([...parent.querySelectorAll(selector)]);
}

/** @param {string} path */
export function icon(path) {
  const svg = draw("svg", {viewBox: "0 0 16 16", "aria-hidden": "true"});
  svg.append(draw("path", {d: path}));
  return svg;
}

/**
 * choice is a labelled <select>.
 * @param {string} text
 * @param {string[][]} options value and name of each
 * @param {string} chosen
 * @param {(value: string) => void} onchange
 */
export function choice(text, options, chosen, onchange) {
  const select = make("select", {onchange: () => onchange(select.value)},
    ...options.map(([value, name]) => make("option", {value, selected: value === chosen}, name)));
  return make("label", {}, text, select);
}

/**
 * segments are buttons of which one is pressed.
 * @param {string} text
 * @param {string[][]} options value and name of each
 * @param {string} chosen
 * @param {(value: string) => void} onchoose
 */
export function segments(text, options, chosen, onchoose) {
  const group = make("div", {class: "segments", role: "group", "aria-label": text});
  for (const [value, name] of options) {
    group.append(make("button", {type: "button", "aria-pressed": String(value === chosen), onclick: (/** @type {Event} */ e) => {
      for (const b of group.children) b.setAttribute("aria-pressed", String(b === e.currentTarget));
      onchoose(value);
    }}, name));
  }
  return group;
}

/**
 * @param {string} title
 * @param {string} text
 */
export function empty(title, text) {
  return make("div", {class: "empty"}, make("b", {text: title}), text);
}

/** @param {string} text */
export function th(text) {
  return make("th", {class: "number", scope: "col", text});
}

/**
 * @param {string} text
 * @param {string} [kind]
 */
export function td(text, kind = "") {
  return make("td", {class: "number " + kind, text});
}
