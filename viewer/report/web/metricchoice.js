// @ts-check
// The list of metrics, as the flame graph and the table have it.

import {choice} from "./elements.js";
import {change, state, watch} from "./state.js";

/**
 * metricChoice is the list of metrics that widths and shares can show.
 * @param {string} text
 */
export function metricChoice(text) {
  const {report} = state;
  const box = choice(text, report.metrics.map((m, i) => [String(i), m.label]), String(report.metrics.indexOf(state.metric)),
    (i) => change({metric: report.metrics[Number(i)]}));
  watch((changed) => {
    if (changed.has("metric")) /** @type {HTMLSelectElement} */ (box.querySelector("select")).value = String(report.metrics.indexOf(state.metric));
  });
  return box;
}
