// Runs an ONNX file in ONNX Runtime.
//   node ort_run.js MODULES MODEL OUT_DIR [--threads N] [--runs N]
//                   NAME=FILE.npy ... [--next NAME=FILE.npy ...] ...
//   node ort_run.js MODULES --batch LIST
// MODULES is the node_modules folder with onnxruntime-node. Every group of inputs is one step, run
// N times. An output called next_X is the input X of the following steps that do not name X. Writes
// OUT_DIR/STEP_INDEX.npy for every output and prints {"outputs": [names in the order of INDEX],
// "ms": [time of each run]}. LIST holds the arguments of many such runs, a JSON array of words from
// MODEL on in every line; a run that fails prints {"error": why} in its place, one line each.
//   node ort_run.js MODULES --serve MODEL [--threads N] NAME=FILE.npy ...
// Loads the model once; for every line "N" on stdin runs it N times and prints {"ms": [...]}.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');

const TYPES = {
  '<f2': ['float16', Uint16Array],  // as bits
  '<f4': ['float32', Float32Array],
  '<f8': ['float64', Float64Array],
  '|u1': ['uint8', Uint8Array],
  '|i1': ['int8', Int8Array],
  '<i4': ['int32', Int32Array],
  '<i8': ['int64', BigInt64Array],
  '<i2': ['int16', Int16Array],
  '<u2': ['uint16', Uint16Array],
  '<u4': ['uint32', Uint32Array],
  '<u8': ['uint64', BigUint64Array],
  '|b1': ['bool', Uint8Array],
};

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const start = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, start);
  const [type, Values] = TYPES[/'descr': '([^']+)'/.exec(header)[1]];
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(',');
  const dims = shape.filter((d) => d.trim()).map(Number);
  const data = bytes.subarray(start);
  const aligned = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  return {type, dims, values: new Values(aligned)};
}

function writeNpy(file, tensor) {
  const descr = Object.keys(TYPES).find((key) => TYPES[key][0] === tensor.type);
  const shape = tensor.dims.join(', ') + (tensor.dims.length === 1 ? ',' : '');
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  header += ' '.repeat(63 - ((10 + header.length) % 64)) + '\n';
  const start = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1');
  start.writeUInt16LE(header.length, 8);
  const values = tensor.data;
  const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  fs.writeFileSync(file, Buffer.concat([start, Buffer.from(header, 'latin1'), data]));
}

function parseArguments(argv) {
  const [modules, model, out, ...rest] = argv;
  const options = {modules, model, out, threads: 1, runs: 1, steps: [{}]};
  while (rest.length > 0) {
    const word = rest.shift();
    if (word === '--threads') options.threads = Number(rest.shift());
    else if (word === '--runs') options.runs = Number(rest.shift());
    else if (word === '--next') options.steps.push({});
    else options.steps.at(-1)[word.slice(0, word.indexOf('='))] = word.slice(word.indexOf('=') + 1);
  }
  return options;
}

function loadInputs(ort, files, carried) {
  const feeds = {...carried};
  for (const [name, file] of Object.entries(files)) {
    const {type, dims, values} = readNpy(file);
    feeds[name] = new ort.Tensor(type, values, dims);
  }
  return feeds;
}

function load(modules) {
  const ort = require(path.join(path.resolve(modules), 'onnxruntime-node'));
  ort.env.logLevel = 'fatal';  // old networks print thousands of warnings
  return ort;
}

function open(ort, options) {
  return ort.InferenceSession.create(options.model, {
    ...options.extra,
    intraOpNumThreads: options.threads,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 4,
  });
}

async function timedRun(session, feeds, ms) {
  const before = process.hrtime.bigint();
  const results = await session.run(feeds);
  ms.push(Number(process.hrtime.bigint() - before) / 1e6);
  return results;
}

async function runModel(ort, options) {
  const session = await open(ort, options);
  const ms = [];
  let carried = {};
  for (const [step, files] of options.steps.entries()) {
    const feeds = loadInputs(ort, files, carried);
    let results = {};
    for (let run = 0; run < options.runs; ++run) {
      results = await timedRun(session, feeds, ms);
    }
    carried = {};
    session.outputNames.forEach((name, index) => {
      writeNpy(path.join(options.out, `${step}_${index}.npy`), results[name]);
      if (name.startsWith('next_')) carried[name.slice(5)] = results[name];
    });
  }
  await session.release();
  return {outputs: session.outputNames, ms};
}

async function serve(ort, options) {
  // Subnormal numbers as zero, as our backends take them: they slow some networks down tenfold.
  const extra = {extra: {session: {set_denormal_as_zero: '1'}}};
  const session = await open(ort, {...options, extra});
  const feeds = loadInputs(ort, options.steps[0], {});
  console.log(JSON.stringify({ms: []}));  // ready
  for await (const line of readline.createInterface({input: process.stdin})) {
    const ms = [];
    for (let run = 0; run < Number(line); ++run) await timedRun(session, feeds, ms);
    console.log(JSON.stringify({ms}));
  }
  await session.release();
}

async function main() {
  const argv = process.argv.slice(2);
  const ort = load(argv[0]);
  if (argv[1] === '--serve') {
    await serve(ort, parseArguments([argv[0], argv[2], '', ...argv.slice(3)]));
    return;
  }
  if (argv[1] !== '--batch') {
    console.log(JSON.stringify(await runModel(ort, parseArguments(argv))));
    return;
  }
  for (const line of fs.readFileSync(argv[2], 'utf8').split('\n').filter((text) => text)) {
    let report;
    try {
      report = await runModel(ort, parseArguments([argv[0], ...JSON.parse(line)]));
    } catch (error) {
      report = {error: String(error.message || error)};
    }
    console.log(JSON.stringify(report));
  }
}

main().catch((error) => {
  console.error(String(error.message || error));
  process.exit(1);
});
