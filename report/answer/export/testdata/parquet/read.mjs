// Opens Parquet files with npm hyparquet and prints an array of
// {columns: {NAME: {unit, values}}, metadata} as JSON. Floats are the hex of their
// bits, integers text. The unit is that of the key unit:NAME.
import { readFileSync } from 'node:fs';
import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet';

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
  const rows = await parquetReadObjects({ file });
  const columns = {};
  for (const { element: { name } } of parquetSchema(meta).children) {
    const chunk = meta.row_groups[0]?.columns.find((c) => c.meta_data.path_in_schema[0] === name)?.meta_data;
    columns[name] = { unit: pairs[`unit:${name}`] ?? '', values: rows.map((r) => cell(chunk.type, r[name])) };
  }
  out.push({ columns, metadata: pairs });
}
process.stdout.write(JSON.stringify(out));
