// @ts-check
// Canvases: when they are painted, and how large they are.

/**
 * animationFrame returns a function that draws once before the next frame, however often it is called.
 * @param {() => void} drawIt
 */
export function animationFrame(drawIt) {
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

/**
 * prepareCanvas sizes a canvas for the screen's pixels and returns its context, in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function prepareCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
