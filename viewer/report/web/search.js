// @ts-check
// Search: every word must be in the name, in any order, without regard to case.

/** findNames says for each string whether it matches; null when nothing is asked for. */
export function findNames(strings, query) {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return null;
  const found = new Uint8Array(strings.length);
  for (let i = 0; i < strings.length; i++) {
    const name = strings[i].toLowerCase();
    if (wanted.every((w) => name.includes(w))) found[i] = 1;
  }
  return found;
}

/** countMatches counts matching frames and adds up the outermost of them. */
export function countMatches(tree, matches, values) {
  let frames = 0, sum = 0, covered = 0;
  for (let i = 0; i < tree.count; i++) {
    if (!matches[tree.name[i]]) continue;
    frames++;
    if (i >= covered) {
      if (values[i] > 0) sum += values[i];
      covered = tree.end[i];
    }
  }
  return {frames, share: sum / values[0]};
}

/** leadsToMatch says which frames have a match below them. */
export function leadsToMatch(tree, matches) {
  const leads = new Uint8Array(tree.count);
  for (let i = tree.count - 1; i > 0; i--) if (leads[i] || matches[tree.name[i]]) leads[tree.parent[i]] = 1;
  return leads;
}
