// Runs Perfetto's trace_processor, the program behind ui.perfetto.dev, on a trace and answers SQL.
//
//   node traceprocessor.mjs ENGINE TRACE <queries
//
// ENGINE is a folder with trace_processor.wasm and its JavaScript, as tools/oracles.sh unpacks it. Queries come one per
// line; each gets one line of JSON: {"columns": [...], "rows": [[...]]} or {"error": "..."}. The first line of the output
// is for the trace itself: {"error": ...} when trace_processor did not take all of it, else {}.
import fs from 'node:fs';
import path from 'node:path';
import v8 from 'node:v8';
import vm from 'node:vm';
import { pathToFileURL } from 'node:url';

const [, , folder, trace] = process.argv;

// Optimised code takes a second, and queries of small traces take milliseconds without it. A Node that does not know the flag says so and goes on.
v8.setFlagsFromString('--liftoff-only');

// The engine expects to be a browser's worker that fetches its wasm file. This one has 32-bit memory, so the probe
// for 64-bit memory, the only module of 23 bytes, must fail also where Node could do it.
const wasm = fs.readFileSync(path.join(folder, 'trace_processor.wasm'));
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = { href: pathToFileURL(folder).href + '/' };
globalThis.XMLHttpRequest = class {
  open() {}
  send() {
    this.response = wasm;
  }
};
const Module = WebAssembly.Module;
WebAssembly.Module = function (bytes) {
  if (bytes.byteLength === 23) throw new Error('no memory64');
  return new Module(bytes);
};
console.log = console.warn = (...args) => console.error(...args);

vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.node.js'), 'utf8'), { filename: 'engine_bundle.js' });
const { EngineBase } = await import(pathToFileURL(path.resolve(folder, 'engine.mjs')).href);

class Engine extends EngineBase {
  mode = 'WASM';
  id = 'tests';
  constructor(port) {
    super();
    this.port = port;
    port.onmessage = (m) => this.onRpcResponseBytes(m.data);
  }
  rpcSendRequestBytes(data) {
    this.port.postMessage(data);
  }
}

const channel = new MessageChannel();
const engine = new Engine(channel.port2);
globalThis.onmessage({ data: channel.port1 });
const plain = (v) => (typeof v === 'bigint' ? Number(v) : v);
// process.exit forgets what a pipe has not taken yet, and writeSync does not.
const out = (v) => {
  for (let rest = Buffer.from(JSON.stringify(v) + '\n'); rest.length > 0; ) rest = rest.subarray(fs.writeSync(1, rest));
};

try {
  await engine.parse(new Uint8Array(fs.readFileSync(trace)));
  await engine.notifyEof();
  out({});
} catch (e) {
  out({ error: String(e) });
}
for (const sql of fs.readFileSync(0, 'utf8').split('\n').filter((s) => s.trim())) {
  const answer = await engine.tryQuery(sql);
  if (!answer.ok) {
    out({ error: answer.error });
    continue;
  }
  const columns = answer.value.columns();
  const rows = [];
  for (const it = answer.value.iter({}); it.valid(); it.next()) rows.push(columns.map((c) => plain(it.get(c))));
  out({ columns, rows });
}
process.exit(0);
