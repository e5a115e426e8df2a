// Reads [{"name": file name, "text": content}, …] from standard input and runs speedscope's own importer on each,
// after checking it against speedscope's schema if it is in speedscope's format.
//
// Prints for each {"schema": [errors], "profiles": [{"name", "unit", "own": {call path: value}}]}. A call path is
// a JSON list of frame names; its value is what it has without the frames within.
//
// speedscope is a web page. Its bundle is run with a document that does nothing, which is all that the importer needs.
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const packages = path.join(process.argv[2], 'node_modules');
const release = path.join(packages, 'speedscope/dist/release');
const bundle = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
let source = fs.readFileSync(path.join(release, bundle), 'utf8');

// The promise of the importer's module is a variable of the bundle; its name is where it is used.
const use = /async function [\w$]+\((\w+),(\w+)\)\{return\(await ([\w$]+)\)\.importProfileGroupFromText\(\1,\2\)\}/.exec(source);
source = source.replace('(()=>{', `(()=>{setTimeout(()=>{globalThis.importer=${use[3]}},0);`);

// Something that can be read, called, constructed and written without effect.
function anything() {
  return new Proxy(function () {}, {
    get: (target, key) => {
      if (key === Symbol.toPrimitive) return () => 0;
      if (key === 'then') return undefined;
      if (!(key in target) || key === 'prototype') target[key] = anything();
      return target[key];
    },
    apply: () => anything(),
    construct: () => anything(),
    set: () => true,
    has: () => false,
  });
}

const page = {
  setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, Uint8Array, performance, atob, btoa,
  console: { log() {}, warn() {}, error: console.error },
  document: anything(), localStorage: anything(), location: { hash: '', protocol: 'file:', search: '' },
  navigator: { userAgent: 'node', platform: 'node' }, requestAnimationFrame: () => 0, addEventListener() {},
  matchMedia: () => ({ matches: false, addListener() {} }), HTMLElement: class {}, Element: class {}, Node: class {},
};
page.globalThis = page;
page.window = page.self = new Proxy(page, { get: (target, key) => (key in target ? target[key] : anything()) });
vm.createContext(page);
try {
  vm.runInContext(source, page);
} catch {
  // Drawing the page fails, after the importer is there.
}

function ownValues(profile) {
  const own = {};
  const open = [];
  profile.forEachCall(
    (node, value) => open.push({ name: node.frame, start: value, inside: 0 }),
    (node, value) => {
      const names = open.map((o) => (o.name.file && o.name.line ? `${o.name.file}:${o.name.line}@${o.name.name}` : o.name.name));
      const o = open.pop();
      const key = JSON.stringify(names);
      own[key] = (own[key] || 0) + value - o.start - o.inside;
      if (open.length > 0) open[open.length - 1].inside += value - o.start;
    },
  );
  return own;
}

const Ajv = require(path.join(packages, 'ajv'));
const validate = new Ajv({ allErrors: true, strict: false })
  .compile(JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json'), 'utf8')));

setTimeout(async () => {
  const importer = await page.importer;
  const answers = [];
  for (const { name, text } of JSON.parse(fs.readFileSync(0, 'utf8'))) {
    let schema = [];
    if (text.startsWith('{') && !validate(JSON.parse(text))) schema = validate.errors.map((e) => `${e.instancePath} ${e.message}`);
    const group = await importer.importProfileGroupFromText(name, text);
    answers.push({
      schema,
      profiles: (group ? group.profiles : []).map((p) => ({
        name: p.getName(), unit: p.getWeightUnit(), own: ownValues(p),
      })),
    });
  }
  process.stdout.write(JSON.stringify(answers));
}, 10);
