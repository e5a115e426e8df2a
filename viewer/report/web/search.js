// Search: every word must be in the name, in any order, without regard to case.

/** findNames says for each string whether it matches; null when nothing is asked for. */
function findNames(strings, query) {
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
function countMatches(tree, matches, values) {
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

/** marked shows a name with the words of the query highlighted. */
function marked(name, query) {
  const span = make("span", {class: "name"});
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
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
