// Writes recording.arrow, a recording as another program would: npm apache-arrow,
// two batches, columns of several types, units and rate in the metadata.
// Run: node write.mjs FILE (in this folder, after npm ci).
import { writeFileSync } from 'node:fs';
import { Field, Float32, Float64, Int16, RecordBatchFileWriter, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow';

const meta = (o) => new Map(Object.entries(o));
const schema = new Schema([
  new Field('mic', new Float32(), false, meta({ unit: 'Pa', serial: '4711' })),
  new Field('raw', new Int16(), false),
  new Field('force', new Float64(), true, meta({ unit: 'N' })),
  new Field('note', new Utf8(), true),
], meta({ rate_hz: '6400', operator: 'Ada' }));

const batch = (from, to) => {
  const k = Array.from({ length: to - from }, (_, i) => from + i);
  return new Table(schema, {
    mic: vectorFromArray(k.map((i) => i / 8), new Float32()),
    raw: vectorFromArray(k.map((i) => 100 - 3 * i), new Int16()),
    force: vectorFromArray(k.map((i) => (i === 7 ? null : i * i / 3)), new Float64()),
    note: vectorFromArray(k.map((i) => `n${i}`), new Utf8()),
  }).batches[0];
};
const w = new RecordBatchFileWriter();
for (const [a, b] of [[0, 5], [5, 12]]) w.write(batch(a, b));
w.finish();
writeFileSync(process.argv[2], await w.toUint8Array());
