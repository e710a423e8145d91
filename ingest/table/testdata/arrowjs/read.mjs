// Opens Arrow IPC files with npm apache-arrow, as a user's page or notebook
// would, and prints what it finds as one JSON document: an array with one entry
// per file named on the command line. JSON has no NaN, Infinity, -0 or 64-bit
// integers, so numbers are printed as text that says them exactly: floats as
// the hex of their IEEE 754 bits (big-endian), integers in decimal.
import { readFileSync } from 'node:fs';
import { DataType, RecordBatchFileReader, Table } from 'apache-arrow';

const view = new DataView(new ArrayBuffer(8));
const hex = (bytes) => Array.from({ length: bytes }, (_, i) => view.getUint8(i).toString(16).padStart(2, '0')).join('');
const f64 = (x) => (view.setFloat64(0, x), hex(8));
const f32 = (x) => (view.setFloat32(0, x), hex(4));

function cell(type, x) {
  if (x === null) return null;
  if (DataType.isUtf8(type)) return x;
  if (DataType.isBool(type)) return x;
  if (DataType.isInt(type)) return x.toString();
  if (DataType.isFloat(type)) return type.precision === 2 ? f64(x) : f32(x);
  if (DataType.isList(type)) return Array.from(x, (e) => cell(type.children[0].type, e));
  throw new Error(`no JSON for ${type}`);
}

const files = process.argv.slice(2).map((path) => {
  const reader = RecordBatchFileReader.from(readFileSync(path)).open(); // the random-access format, not the stream
  if (!reader.isFile()) throw new Error(`${path} is no Arrow IPC file`);
  const schema = reader.schema; // gone when the reader has come to its end
  const table = new Table(schema, [...reader]);
  return {
    rows: table.numRows,
    batches: table.batches.length,
    metadata: [...schema.metadata],
    columns: schema.fields.map((field, i) => ({
      name: field.name,
      type: field.type.toString(),
      nullable: field.nullable,
      metadata: [...field.metadata],
      values: Array.from(table.getChildAt(i) ?? [], (x) => cell(field.type, x)),
    })),
  };
});
process.stdout.write(JSON.stringify(files));
