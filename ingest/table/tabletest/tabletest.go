// Package tabletest has tables for tests of programs that read our tables. Only tests import it.
package tabletest

import (
	"fmt"
	"math"

	"doubletake/ingest/table"
	"doubletake/internal/kv"
)

// Tables returns three tables by name:
//   - "types" has a column of every type, with values that break readers: missing numbers, infinities, signed zero, the
//     ends of int64, texts beyond ASCII and with a zero byte, names that other programs must change, lists of
//     equal and of different length
//   - "empty" has no rows
//   - "long" has more rows than a batch of Arrow or a group of Parquet
func Tables() map[string]*table.Table {
	const rows = 1<<16 + 3
	long := make([]float64, rows)
	names := make([]string, rows)
	for i := range long {
		long[i] = float64(i) / 3
		names[i] = fmt.Sprint("run ", i)
	}

	return map[string]*table.Table{
		"types": {
			Meta: []kv.Pair{
				{Key: "program", Value: "doubletake test"},
				{Key: "config:train.inputs", Value: "[blades, rpm]"},
				{Key: "µ", Value: ""},
			},
			Columns: []table.Column{
				{
					Name: "run", Description: "one acquisition",
					Strings: []string{"a, \"b\"", "", "µ\x00ß 風", "a + b\nc", " \U0001F300 "},
				},
				{
					Name: "rpm", Unit: "1/min", Description: "shaft speed",
					Floats: []float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64},
				},
				{Name: "2 x", Unit: "(dB re 20 µPa)²", Floats: []float64{0.1, 1. / 3, math.Inf(1), -1e-300, 1 << 60}},
				{Name: "2_x", Ints: []int64{math.MinInt64, -1, 0, 1<<53 + 1, math.MaxInt64}},
				{Name: "emergent", Bools: []bool{true, false, true, true, false}},
				{Name: "power", Unit: "Pa²", Lists: [][]float32{
					{},
					{1, 0.1},
					{math.SmallestNonzeroFloat32},
					{},
					{float32(math.Inf(1)), -2, 3},
				}},
				{Name: "same", Lists: [][]float32{{1, 2}, {3, 4}, {5, 0.1}, {7, 8}, {9, 10}}},
			},
		},
		"empty": {Columns: []table.Column{
			{Name: "x", Unit: "m", Floats: []float64{}},
			{Name: "s", Strings: []string{}},
			{Name: "b", Bools: []bool{}},
			{Name: "l", Lists: [][]float32{}},
		}},
		"long": {Columns: []table.Column{{Name: "x", Floats: long}, {Name: "run", Strings: names}}},
	}
}
