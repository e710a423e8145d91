// Opens Parquet files with npm hyparquet and prints an array of
// {columns: {NAME: {unit, values}}, metadata} as JSON. Floats are the hex of their
// bits, integers text. The unit comes from the Arrow schema in the metadata, read
// by npm apache-arrow, and must be that of the key unit:NAME.
import { readFileSync } from 'node:fs';
import { RecordBatchStreamReader } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';

const view = new DataView(new ArrayBuffer(8));
const hex = (bytes) => Array.from({ length: bytes }, (_, i) => view.getUint8(i).toString(16).padStart(2, '0')).join('');
const cell = (type, x) => {
  if (x === null || x === undefined) return null;
  if (Array.isArray(x)) return x.map((e) => cell(type, e));
  if (type === 'DOUBLE') return view.setFloat64(0, x), hex(8);
  if (type === 'FLOAT') return view.setFloat32(0, x), hex(4);
  return typeof x === 'bigint' ? x.toString() : x;
};

const out = [];
for (const path of process.argv.slice(2)) {
  const b = readFileSync(path);
  const file = b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength);
  const meta = parquetMetadata(file);
  const pairs = Object.fromEntries((meta.key_value_metadata ?? []).map((p) => [p.key, p.value]));
  const reader = RecordBatchStreamReader.from(Buffer.from(pairs['ARROW:schema'], 'base64'));
  const schema = (await reader.open()).schema;
  const rows = await parquetReadObjects({ file });
  const columns = {};
  for (const field of schema.fields) {
    const chunk = meta.row_groups[0]?.columns.find((c) => c.meta_data.path_in_schema[0] === field.name)?.meta_data;
    const unit = field.metadata.get('unit') ?? '';
    const key = pairs[`unit:${field.name}`] ?? '';
    if (key !== unit) throw new Error(`${field.name}: units ${unit} and ${key}`);
    columns[field.name] = { unit, values: rows.map((r) => cell(chunk.type, r[field.name])) };
  }
  out.push({ columns, metadata: pairs });
}
process.stdout.write(JSON.stringify(out));
