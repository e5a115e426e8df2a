// @ts-check
// Search. Every word of a query must be in the name, in any order, without regard to case. Parts between slashes are searched along
// the call path: a/b finds frames with b in their name that are called, directly or not, from one with a. A name may itself have
// slashes, such as that of a file, so a name that has the query as it stands is found as well.

/**
 * wordsOf lists the words of a query.
 * @param {string} query
 */
export function wordsOf(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * partsOf lists what is searched along the call path: the words of each part.
 * @param {string} query
 */
export function partsOf(query) {
  return query.split("/").map(wordsOf).filter((words) => words.length > 0);
}

/**
 * find says what a query matches; null when nothing is asked for.
 * @param {Pick<PageData, "strings" | "tree" | "timeline">} report
 * @param {string} query
 * @returns {Matches | null}
 */
export function find({strings, tree, timeline}, query) {
  const parts = partsOf(query);
  if (!parts.length) return null;
  const whole = findNames(strings, wordsOf(query)), along = parts.map((words) => findNames(strings, words));
  const frames = findPaths(tree.parent, tree.name, along, whole);
  if (parts.length === 1) return {frames, names: along[0], paths: null};
  const names = new Uint8Array(strings.length);
  for (let i = 0; i < tree.count; i++) if (frames[i]) names[tree.name[i]] = 1;
  const above = timeline && Int32Array.from(timeline.pathParent, (p) => p - 1);
  return {frames, names, paths: timeline ? findPaths(above, timeline.pathName, along, whole) : null};
}

/**
 * findNames says for each string whether it has all of some words.
 * @param {string[]} strings
 * @param {string[]} words in lower case
 */
export function findNames(strings, words) {
  const found = new Uint8Array(strings.length);
  for (let i = 0; i < strings.length; i++) {
    const name = strings[i].toLowerCase();
    if (words.every((w) => name.includes(w))) found[i] = 1;
  }
  return found;
}

/**
 * findPaths says for each frame whether its name matches the last part and the frames above it match the others in their order.
 * @param {ArrayLike<number>} parent of each frame, before it in the array; -1 for none
 * @param {ArrayLike<number>} name of each frame
 * @param {Uint8Array[]} along the names that match each part
 * @param {Uint8Array} whole the names that match in any case
 */
function findPaths(parent, name, along, whole) {
  const found = new Uint8Array(parent.length), seen = new Int32Array(parent.length); // parts that a frame and those above it match
  const last = along.length - 1;
  for (let i = 0; i < parent.length; i++) {
    const above = parent[i] >= 0 ? seen[parent[i]] : 0;
    if (whole[name[i]] || (above === last && along[last][name[i]])) found[i] = 1;
    seen[i] = above < last && along[above][name[i]] ? above + 1 : above;
  }
  return found;
}

/**
 * countMatches counts matching frames and adds up the outermost of them.
 * @param {Tree} tree
 * @param {Uint8Array} frames those that match
 * @param {ArrayLike<number>} values
 */
export function countMatches(tree, frames, values) {
  let count = 0, sum = 0, covered = 0;
  for (let i = 0; i < tree.count; i++) {
    if (!frames[i]) continue;
    count++;
    if (i >= covered) {
      if (values[i] > 0) sum += values[i];
      covered = tree.end[i];
    }
  }
  return {count, share: sum / values[0]};
}

/**
 * leadsToMatch says which frames have a match below them.
 * @param {Frames} tree
 * @param {Uint8Array} frames those that match
 */
export function leadsToMatch(tree, frames) {
  const leads = new Uint8Array(tree.count);
  for (let i = tree.count - 1; i > 0; i--) if (leads[i] || frames[i]) leads[tree.parent[i]] = 1;
  return leads;
}

/**
 * nextLine marks the next line of a listing whose text has all words of a query, after the one that is marked, and shows it.
 * @param {HTMLElement[]} all
 * @param {string} query
 */
export function nextLine(all, query) {
  const wanted = wordsOf(query), from = all.findIndex((l) => l.classList.contains("found"));
  all[from]?.classList.remove("found");
  for (let step = 1; step <= all.length; step++) {
    const line = all[(from + step + all.length) % all.length], text = line.querySelector(".text")?.textContent?.toLowerCase() ?? "";
    if (!wanted.every((w) => text.includes(w))) continue;
    line.classList.add("found");
    line.scrollIntoView({block: "center"});
    return;
  }
}
