// Opens Parquet files with npm DuckDB and prints what read.mjs prints.
import { DuckDBInstance } from '@duckdb/node-api';

const view = new DataView(new ArrayBuffer(8));
const hex = (bytes) => Array.from({ length: bytes }, (_, i) => view.getUint8(i).toString(16).padStart(2, '0')).join('');
const cell = (type, x) => {
  if (x === null) return null;
  if (type === 'FLOAT[]') return x.items.map((e) => cell('FLOAT', e));
  if (type === 'DOUBLE') return view.setFloat64(0, x), hex(8);
  if (type === 'FLOAT') return view.setFloat32(0, x), hex(4);
  return typeof x === 'bigint' ? x.toString() : x;
};

const db = await (await DuckDBInstance.create(':memory:')).connect();
const out = [];
for (const path of process.argv.slice(2)) {
  const name = `'${path.replaceAll("'", "''")}'`;
  const pairs = await db.runAndReadAll(`select decode(key), decode(value) from parquet_kv_metadata(${name})`);
  const metadata = Object.fromEntries(pairs.getRows());
  const table = await db.runAndReadAll(`select * from read_parquet(${name})`);
  const values = table.getColumns();
  const columns = {};
  table.columnNames().forEach((column, i) => {
    const type = table.columnType(i).toString();
    columns[column] = { unit: metadata[`unit:${column}`] ?? '', values: (values[i] ?? []).map((x) => cell(type, x)) };
  });
  out.push({ columns, metadata });
}
process.stdout.write(JSON.stringify(out));
