// What the person is looking at, shared by all views, and the elements they are made of.

const state = {
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
function watch(callback) {
  watchers.push(callback);
}

/** change sets parts of the state and calls the functions that were passed to watch. */
function change(parts) {
  const changed = new Set(Object.keys(parts).filter((k) => state[k] !== parts[k]));
  if (!changed.size) return;
  Object.assign(state, parts);
  for (const w of watchers) w(changed);
}

/** make builds an element. It inserts text as text nodes only, so that no name in a profile is parsed as markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAll(element, attributes);
  element.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/** draw is make for SVG. */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAll(element, attributes);
  element.append(...children);
  return element;
}

function setAll(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "text") element.textContent = value;
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
}

function byID(id) {
  return document.getElementById(id);
}

/** say announces a text to screen readers. */
function say(text) {
  byID("live").textContent = text;
}

function icon(path) {
  const svg = draw("svg", {viewBox: "0 0 16 16", "aria-hidden": "true"});
  svg.append(draw("path", {d: path}));
  return svg;
}

/** choice is a labelled <select>. */
function choice(text, options, chosen, onchange) {
  const select = make("select", {onchange: () => onchange(select.value)},
    ...options.map(([value, name]) => make("option", {value, selected: value === chosen}, name)));
  return make("label", {}, text, select);
}

/** segments are buttons of which one is pressed. */
function segments(text, options, chosen, onchoose) {
  const group = make("div", {class: "segments", role: "group", "aria-label": text});
  for (const [value, name] of options) {
    group.append(make("button", {type: "button", "aria-pressed": String(value === chosen), onclick: (e) => {
      for (const b of group.children) b.setAttribute("aria-pressed", String(b === e.currentTarget));
      onchoose(value);
    }}, name));
  }
  return group;
}

function empty(title, text) {
  return make("div", {class: "empty"}, make("b", {text: title}), text);
}

/** animationFrame returns a function that draws once before the next frame, however often it is called. */
function animationFrame(drawIt) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      drawIt();
    });
  };
}

/** prepareCanvas sizes a canvas for the screen's pixels and returns its context, in CSS pixels. */
function prepareCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
