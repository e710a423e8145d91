// Writes *.parquet by DuckDB (npm @duckdb/node-api 1.5.6): a row group of so many rows
// with equal values. Run in bombs/ where the package is installed.
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create()).connect();
for (const [name, value, rows] of [['constant', '1.5::DOUBLE', 16777216], ['words', "'a word'", 16777216], ['rows', '1.5::DOUBLE', 4000000],
  ['long', "repeat('word ', 200)", 100000]]) {
  await connection.run(`COPY (SELECT ${value} AS x, ${value} AS y FROM range(${rows})) TO '${name}.parquet'
    (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 16777216)`);
}
