// Writes recordings as Polars does: node write.mjs FOLDER (after npm ci).
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pl from 'nodejs-polars';

const n = 12;
const k = Array.from({ length: n }, (_, i) => i);
const frame = pl.DataFrame({
  mic: pl.Series('mic', k.map((i) => i / 8), pl.Float32),
  raw: pl.Series('raw', k.map((i) => 100 - 3 * i), pl.Int16),
  force: pl.Series('force', k.map((i) => (i === 7 ? null : i * i / 3)), pl.Float64),
  count: pl.Series('count', k.map((i) => (i === 2 ? null : i)), pl.UInt32),
  on: pl.Series('on', k.map((i) => i % 3 === 0), pl.Bool),
  note: pl.Series('note', k.map((i) => (i === 4 ? null : i % 2 ? `n${i}` : `a longer note than a view holds, ${i}`))),
  kind: pl.Series('kind', k.map((i) => ['up', 'down', null][i % 3]), pl.Utf8).cast(pl.Categorical),
  day: pl.Series('day', k.map((i) => new Date(Date.UTC(2024, 1, 20 + i))), pl.Datetime('ms')),
  list: pl.Series('list', k.map((i) => Array.from({ length: i % 4 }, (_, j) => i + j / 2))),
});
mkdirSync(process.argv[2], { recursive: true });
for (const compression of ['uncompressed', 'lz4', 'zstd']) {
  frame.writeIPC(join(process.argv[2], `${compression}.arrow`), { compression });
}
// Long enough to be worth compressing.
const long = pl.DataFrame({ x: pl.Series('x', Array.from({ length: 40000 }, (_, i) => i % 250), pl.Float64) });
for (const compression of ['lz4', 'zstd']) {
  long.writeIPC(join(process.argv[2], `long-${compression}.arrow`), { compression });
}
frame.slice(0, 0).writeIPC(join(process.argv[2], 'empty.arrow'), { compression: 'uncompressed' });
