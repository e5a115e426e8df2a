// node sums.js PAGE: what a page's flame graph adds up, as JSON by name: own values bottom up, the root of callees and of callers of
// each name, and what each of its callers has of it.
import {readFileSync} from "node:fs";
import {readReport} from "../data.js";
import {bottomUp, callees, callers} from "../graph.js";
import {childrenOf} from "../tree.js";

const [, size, textContent] = /<script [^>]*data-size="(\d+)">([^<]*)</.exec(readFileSync(process.argv[2], "utf8"));
const {tree, strings, metrics: [metric]} = await readReport({textContent, dataset: {size}});
const sums = {own: {}, callees: {}, callers: {}, called: {}};

const up = bottomUp(tree, metric);
childrenOf(up, 0, (c) => (sums.own[strings[up.name[c]]] = up.now[c]));
for (const name of new Set(tree.name)) {
  const text = strings[name], above = callers(tree, metric, name);
  sums.callees[text] = callees(tree, metric, name).now[0];
  sums.callers[text] = above.now[0];
  childrenOf(above, 0, (c) => (sums.called[`${strings[above.name[c]]} > ${text}`] = above.now[c]));
}
sums.called[" > ROOT"] = tree.values[metric.column][0];
console.log(JSON.stringify(sums));
