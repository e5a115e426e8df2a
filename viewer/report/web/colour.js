// @ts-check
// Colours of what is drawn on canvases. Kinds of frames also differ in their legend, tip and label; changes carry
// their sign and number: colour never stands alone.

export const kinds = ["scope", "source line", "kernel", "marker", "copy or fill"];

const kindHues = [[216, 10, 60], [166, 10, 42], [28, 15, 88], [264, 6, 30], // hue, spread, saturation
  [292, 8, 32], [190, 8, 55], [140, 8, 40], [40, 0, 4], [0, 150, 45]];

export const sliceKinds = ["scope", "launch", "kernel", "graph", "copy", "fill", "wait", "other", "warp in a kernel"]; // as SliceKind in Go
export const sliceHues = [0, 4, 2, 2, 5, 6, 7, 3, 8]; // which of the hues above
export const cividis = [[0, 34, 78], [67, 78, 108], [125, 124, 120], [188, 174, 108], [254, 232, 56]];
let dark = false;
/** @type {Record<string, string>} the variables of the style sheet */
export let css = {};
/** @type {Map<number, Fill>} */
let shades = new Map();

/** readColours takes over the variables of the style sheet, after the theme has changed. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  dark = document.documentElement.dataset.theme === "dark";
  css = {};
  for (const name of ["panel", "line", "strong-line", "text", "muted", "accent", "hover", "tint", "mark", "more", "less", "compute", "memory"]) {
    css[name] = style.getPropertyValue("--" + name).trim();
  }
  shades = new Map();
}

/**
 * kindColour gives a frame its kind's hue, and neighbours of different names different shades.
 * @param {number} kind
 * @param {number} name
 */
export function kindColour(kind, name) {
  const key = kind * 64 + (Math.imul(name + 1, 0x9e3779b1) >>> 26);
  let shade = shades.get(key);
  if (!shade) {
    const [hue, spread, saturation] = kindHues[kind];
    const at = (key & 63) / 63;
    shade = fill(dark
      ? hslToRGB(hue + (at - 0.5) * spread, saturation * 0.62, 25 + 9 * ((at * 7) % 1))
      : hslToRGB(hue + (at - 0.5) * spread, saturation, 79 + 9 * ((at * 7) % 1)));
    shades.set(key, shade);
  }
  return shade;
}

/**
 * fill is a colour with the ink, dark or light, that reads better on it.
 * @param {RGB} rgb
 */
function fill(rgb) {
  const [r, g, b] = rgb.map((c) => {
    c /= 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return {colour: `rgb(${rgb.map(Math.round).join(" ")})`, ink: luminance > 0.19 ? "#151618" : "#f7f7f4"};
}

/**
 * @param {number} hue
 * @param {number} saturation
 * @param {number} lightness
 */
function hslToRGB(hue, saturation, lightness) {
  const s = saturation / 100, l = lightness / 100;
  return [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return 255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  });
}

/**
 * @param {RGB} a
 * @param {RGB} b
 * @param {number} share
 */
function mix(a, b, share) {
  return a.map((v, i) => v + (b[i] - v) * share);
}

/**
 * rampColour runs from dark blue at 0 to yellow at 1, in steps that colour-blind readers can distinguish too.
 * @param {number} v
 */
export function rampColour(v) {
  if (Number.isNaN(v)) return fill(dark ? [50, 52, 56] : [226, 226, 221]);
  const at = Math.max(0, Math.min(1, v)) * (cividis.length - 1), i = Math.min(Math.floor(at), cividis.length - 2);
  return fill(mix(cividis[i], cividis[i + 1], at - i));
}

/**
 * changeColour is orange for more, blue for less, full at a change of a half.
 * @param {number} ratio
 * @param {number} side
 */
export function changeColour(ratio, side) {
  const neutral = dark ? [52, 54, 58] : [228, 228, 223];
  const more = dark ? [214, 92, 38] : [239, 125, 72], less = dark ? [42, 120, 196] : [96, 165, 224];
  if (side === 1) return fill(less);
  if (side === 2) return fill(more);
  if (Number.isNaN(ratio)) return fill(neutral);
  const strength = Math.min(1, Math.abs(ratio) * 2) ** 0.7;
  return fill(mix(neutral, ratio > 0 ? more : less, Math.abs(ratio) < 0.005 ? 0 : 0.15 + 0.85 * strength));
}

/** @param {number} kind */
export function dotColour(kind) {
  const [hue, , saturation] = kindHues[kind];
  return `hsl(${hue} ${Math.min(saturation, 70)}% ${dark ? 62 : 48}%)`;
}
