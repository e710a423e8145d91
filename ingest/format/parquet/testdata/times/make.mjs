// Writes times/*.parquet by DuckDB (npm @duckdb/node-api 1.5): 200 rows at 1000 Hz whose time
// is of another type in each. Run in times/ where the package is installed.
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create()).connect();
const start = "TIMESTAMP '2026-11-23 10:00:00'";
for (const [name, type] of Object.entries({
  time: `TIME '10:00:00' + INTERVAL (i) MILLISECONDS`,
  timestamp: `${start} + INTERVAL (i) MILLISECONDS`,
  timestamp_ms: `(${start} + INTERVAL (i) MILLISECONDS)::TIMESTAMP_MS`,
  timestamp_ns: `(${start} + INTERVAL (i) MILLISECONDS)::TIMESTAMP_NS`,
  integer: `i::INTEGER`,
})) {
  await connection.run(`COPY (SELECT ${type} AS ${name === 'integer' ? 'time' : 'at'}, sin(i / 8.0) AS x FROM range(200) t(i) ORDER BY i)
    TO '${name}.parquet' (FORMAT parquet)`);
}
