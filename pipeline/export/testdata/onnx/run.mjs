// Evaluates ONNX models with npm onnxruntime-web. The argument is a JSON file: a
// list of {model, inputs: {NAME: {width, values}}, outputs: [NAME]}; it prints a list of
// {NAME: values}. Rows are evaluated 50 at a time: the rule holds all points of a
// batch in memory.
import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-web';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const out = [];
for (const { model, inputs, outputs } of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(model)));
  const got = Object.fromEntries(outputs.map((name) => [name, []]));
  const first = Object.values(inputs)[0];
  const rows = first.values.length / first.width;
  for (let from = 0; from < rows; from += 50) {
    const feeds = {};
    for (const [name, { width, values }] of Object.entries(inputs)) {
      const part = Float64Array.from(values.slice(from * width, (from + 50) * width));
      feeds[name] = new ort.Tensor('float64', part, [part.length / width, width]);
    }
    const result = await session.run(feeds);
    for (const name of outputs) got[name].push(...result[name].data);
  }
  await session.release();
  out.push(got);
}
process.stdout.write(JSON.stringify(out));
