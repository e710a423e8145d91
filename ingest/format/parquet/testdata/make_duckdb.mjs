// Writes duckdb.parquet by DuckDB (npm @duckdb/node-api), another writer than the
// library that reads it. Run where the package is installed: node make_duckdb.mjs
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create()).connect();
await connection.run(`COPY (
  SELECT i::INTEGER AS i, i / 8.0::DOUBLE AS x, (i / 8.0)::FLOAT AS single, CASE WHEN i % 3 > 0 THEN i * 1e9::DOUBLE END AS gap,
    (i % 5)::UTINYINT AS few, 'run ' || (i % 4) AS run, i % 2 = 0 AS even
  FROM range(3000) t(i) ORDER BY i
) TO 'duckdb.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)`);
