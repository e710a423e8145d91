package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/endian"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/must"
)

// kindFile is a file written by Arrow's library.
type kindFile struct {
	name  string
	bytes []byte
}

// write makes a file by Arrow's library.
func write(tb testing.TB, schema *arrow.Schema, records []arrow.Record, o ...ipc.Option) []byte {
	tb.Helper()

	f := must.Get(os.Create(filepath.Join(tb.TempDir(), "kind")))(tb)
	defer f.Close()

	w, err := ipc.NewFileWriter(f, append(o, ipc.WithSchema(schema))...)
	for i := 0; err == nil && i < len(records); i++ {
		err = w.Write(records[i])
	}

	if err == nil {
		err = w.Close()
	}

	must.Do(tb, err)

	b := must.Read(tb, f.Name())

	return b
}

// kindFiles writes files of every type and every way of storing them. The bytes
// are the same each time.
func kindFiles(tb testing.TB) []kindFile {
	tb.Helper()
	var out []kindFile
	write := func(name string, schema *arrow.Schema, records []arrow.Record, o ...ipc.Option) {
		out = append(out, kindFile{name, write(tb, schema, records, o...)})
	}

	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	record := func(s *arrow.Schema, json ...string) (records []arrow.Record) {
		for _, j := range json {
			r, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(j), array.WithUseNumber())
			if err != nil {
				tb.Fatalf("%s: %v", j, err)
			}

			records = append(records, r)
		}

		return records
	}

	simple := func(name string, t arrow.DataType, values ...string) {
		s := arrow.NewSchema([]arrow.Field{field("x", t)}, nil)

		json := make([]string, len(values))
		for i, v := range values {
			var rows []string
			for _, x := range strings.Split(v, "|") {
				if x != "" {
					rows = append(rows, `{"x":`+x+`}`)
				}
			}

			json[i] = "[" + strings.Join(rows, ",") + "]"
		}

		write(name, s, record(s, json...))
	}

	number := []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	}

	var fields []arrow.Field
	for i, t := range number {
		f := field(fmt.Sprintf("n%d", i), t)
		f.Metadata = arrow.NewMetadata([]string{"unit", "ARROW:extension:name"}, []string{"Pa", "of nobody"})
		fields = append(fields, f)
	}

	md := arrow.NewMetadata([]string{"fs", "empty"}, []string{"6400", ""})
	numbers := arrow.NewSchema(fields, &md)
	row := func(v string) string {
		var s []string
		for i := range number {
			s = append(s, fmt.Sprintf(`"n%d":%s`, i, v))
		}

		return "{" + strings.Join(s, ",") + "}"
	}

	two := record(numbers, "["+row("1")+","+row("null")+","+row("3")+"]", "[]", "["+row("100")+"]")
	write("numbers", numbers, two)
	write("numbers, LZ4", numbers, two, ipc.WithLZ4())
	write("numbers, Zstandard", numbers, two, ipc.WithZstd())
	write("numbers, only where it helps", numbers, two, ipc.WithZstd(), ipc.WithMinSpaceSavings(0.1))
	write("no batch", numbers, nil)
	write("no column", arrow.NewSchema(nil, nil), nil)

	// 40 000 values of period 250: compressed in several blocks.
	long := arrow.NewSchema([]arrow.Field{field("x", arrow.PrimitiveTypes.Float64)}, &md)
	b := array.NewRecordBuilder(memory.DefaultAllocator, long)
	for i := range 40000 {
		b.Field(0).(*array.Float64Builder).Append(float64(i % 250))
	}

	rec := b.NewRecord()
	write("long, LZ4", long, []arrow.Record{rec}, ipc.WithLZ4())
	write("long, Zstandard", long, []arrow.Record{rec}, ipc.WithZstd())

	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b.Field(0).(*array.Float64Builder).Append(rng.NormFloat64())
	}

	noise := []arrow.Record{b.NewRecord()}
	write("noise, LZ4", long, noise, ipc.WithLZ4())
	write("noise, Zstandard", long, noise, ipc.WithZstd())

	simple("null", arrow.Null, "null|null")
	simple("bool", arrow.FixedWidthTypes.Boolean, "true|null|false")
	simple("text", arrow.BinaryTypes.String, `"a"|null|"ünï"`, `""`)
	simple("large text", arrow.BinaryTypes.LargeString, `"a"|null|"bcd"`)
	simple("bytes", arrow.BinaryTypes.Binary, `"YQ=="|null`)
	simple("large bytes", arrow.BinaryTypes.LargeBinary, `"YQ=="|null`)
	simple("text views", arrow.BinaryTypes.StringView, `"short"|null|"longer than the twelve bytes of a view"`)
	simple("byte views", arrow.BinaryTypes.BinaryView, `"YQ=="|null`)
	simple("bytes of a size", &arrow.FixedSizeBinaryType{ByteWidth: 3}, `"YWJj"|null`)
	simple("date", arrow.FixedWidthTypes.Date32, `"2024-02-29"|null`)
	simple("date in ms", arrow.FixedWidthTypes.Date64, `"2024-02-29"|null`)
	simple("time", arrow.FixedWidthTypes.Time32ms, `"12:30:01.5"|null`)
	simple("time in ns", arrow.FixedWidthTypes.Time64ns, `"12:30:01.5"|null`)
	simple("timestamp", arrow.FixedWidthTypes.Timestamp_us, `"2024-02-29 12:30:01"|null`)
	simple("timestamp with zone", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
		`"2024-02-29 12:30:01"|null`)
	simple("duration", arrow.FixedWidthTypes.Duration_ms, `12|null`)
	simple("months", arrow.FixedWidthTypes.MonthInterval, `{"months":3}|null`)
	simple("days", arrow.FixedWidthTypes.DayTimeInterval, `{"days":3,"milliseconds":4}|null`)
	simple("months, days, ns", arrow.FixedWidthTypes.MonthDayNanoInterval, `{"months":1,"days":3,"nanoseconds":4}|null`)
	simple("decimal", &arrow.Decimal128Type{Precision: 10, Scale: 2}, `"12.34"|null`)
	simple("long decimal", &arrow.Decimal256Type{Precision: 50, Scale: 2}, `"12.34"|null`)
	simple("list", arrow.ListOf(arrow.PrimitiveTypes.Float32), `[1,2]|null|[]|[3]`, `[4]`)
	simple("empty list", arrow.ListOf(arrow.PrimitiveTypes.Float32), ``, `[]`)
	simple("large list", arrow.LargeListOf(arrow.PrimitiveTypes.Int16), `[1,2]|null|[]`)
	simple("list view", arrow.ListViewOf(arrow.PrimitiveTypes.Int16), `[1,2]|null|[]`)
	simple("large list view", arrow.LargeListViewOf(arrow.PrimitiveTypes.Int16), `[1,2]|null|[]`)
	simple("list of a size", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), `[1,2]|null|[3,4]`)
	inner := arrow.StructOf(field("a", arrow.PrimitiveTypes.Int8), field("b", arrow.ListOf(arrow.BinaryTypes.String)))
	simple("struct", inner, `{"a":1,"b":["x","y"]}|null|{"a":null,"b":null}`)
	simple("list of structs", arrow.ListOf(inner), `[{"a":1,"b":["x"]}]|null`)
	simple("map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32),
		`[{"key":"k","value":1},{"key":"l","value":null}]|null`)
	simple("map of maps", arrow.MapOf(arrow.BinaryTypes.String,
		arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8)), `[{"key":"k","value":[{"key":"m","value":5}]}]`)
	either := []arrow.Field{field("i", arrow.PrimitiveTypes.Int32), field("t", arrow.BinaryTypes.String)}
	simple("sparse union", arrow.SparseUnionOf(either, []arrow.UnionTypeCode{3, 5}), `[3,1]|[5,"x"]`)
	simple("dense union", arrow.DenseUnionOf(either, []arrow.UnionTypeCode{3, 5}), `[3,1]|[5,"x"]|[5,"y"]`)
	simple("runs", arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `"a"|"a"|"b"|null`)
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	simple("dictionary", words, `"a"|"b"|null|"a"`)
	simple("dictionary of numbers", &arrow.DictionaryType{
		IndexType: arrow.PrimitiveTypes.Uint16,
		ValueType: arrow.PrimitiveTypes.Float64,
	}, `1|2|1`)

	simple("dictionary in a struct", arrow.StructOf(field("w", words)), `{"w":"a"}|{"w":"b"}`)
	simple("two dictionaries", arrow.StructOf(field("v", words), field("w", words)), `{"v":"a","w":"c"}|{"v":"b","w":"d"}`)

	return out
}

// schemaFile makes a file without batches of a schema, the table at a byte of b.
func schemaFile(b []byte, at int) []byte {
	f := append([]byte{
		12, 0, 0, 0, // the footer is at byte 12, its layout before it: the schema at 4
		8, 0, 8, 0, 0, 0, 4, 0,
		8, 0, 0, 0, byte(4 + at), 0, 0, 0,
	}, b...)

	f = binary.LittleEndian.AppendUint32(f, uint32(len(f)))

	return append(append([]byte("ARROW1\x00\x00"), f...), "ARROW1"...)
}

// Witness: Apache's library for Go reads the same types, units, attributes and numbers
// of files of every kind that it writes, and of all files here, by other writers.
func TestKinds(t *testing.T) {
	files := map[string][]byte{}
	for _, k := range kindFiles(t) {
		files[k.name] = k.bytes
	}

	for _, pattern := range []string{"testdata/*.arrow", "testdata/*/*.arrow"} {
		paths, err := filepath.Glob(pattern)
		must.Never(t, err != nil || len(paths) == 0, "%s: %v", pattern, err)

		for _, p := range paths {
			b := must.Read(t, p)

			files[p] = b
		}
	}

	for name, b := range files {
		t.Run(name, func(t *testing.T) { compare(t, b) })
	}
}

// compare reads a file by both.
func compare(t *testing.T, b []byte) {
	other := must.Get(ipc.NewFileReader(bytes.NewReader(b)))(t)
	defer other.Close()

	f := must.Get(openFile(bytes.NewReader(b), int64(len(b))))(t)

	schema := other.Schema()
	must.Never(t, len(f.columns) != schema.NumFields() || len(f.batches) != other.NumRecords(),
		"%d columns in %d batches", len(f.columns), len(f.batches))

	must.Equal(t, pairs(f.attributes, ""), schema.Metadata().ToMap(), "attributes")

	for i, c := range f.columns {
		field := schema.Field(i)
		if c.name != field.Name || !strings.Contains(typeName(field.Type), c.title) {
			t.Errorf("column %s of %s, expected %s of %s", c.name, c.title, field.Name, typeName(field.Type))
		}

		must.Equal(t, pairs(c.attributes, c.unit), field.Metadata.ToMap(), "column %s: attributes", c.name)

		p := &plane{f: f, c: c}
		from := int64(0)
		for k := range f.batches {
			rec := must.Get(other.RecordAt(k))(t)

			got := make([]float64, f.ends[k]-from)
			must.Be(t, int64(len(got)), rec.NumRows(), "rows")

			if c.number {
				must.Do(t, p.Read([]int{0}, from, [][]float64{got}))
			}

			for j := range got {
				if a := rec.Column(i); c.number && fmt.Sprint(got[j]) != number(t, a, j) {
					t.Fatalf("column %s, batch %d, row %d: %v, expected %s", c.name, k+1, j, got[j], number(t, a, j))
				}
			}

			rec.Release()
			from = f.ends[k]
		}
	}
}

// pairs returns attributes, and a unit as one of them.
func pairs(a []ingest.Attribute, unit string) map[string]string {
	m := map[string]string{}
	for _, a := range a {
		m[a.Name] = a.Value
	}

	if unit != "" {
		m["unit"] = unit
	}

	return m
}

// typeName names a type; of nested ones only the outermost.
func typeName(t arrow.DataType) string {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}

	if _, ok := t.(arrow.NestedType); ok {
		return t.Name()
	}

	return t.String()
}

// number writes a value of an array; NaN where there is none.
func number(t *testing.T, a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NaN"
	}

	v := must.Get(strconv.ParseFloat(a.ValueStr(i), 64))(t)

	return fmt.Sprint(v)
}

// openBytes opens bytes as a recording.
func openBytes(name string, b []byte, o ingest.Options) (ingest.Reader, error) {
	return open(ingest.Source{Path: name, ReaderAt: bytes.NewReader(b), Size: int64(len(b))}, o)
}

// No writer in use makes big-endian files.
func TestBigEndian(t *testing.T) {
	s := arrow.NewSchemaWithEndian([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64}}, nil,
		endian.NonNativeEndian)
	r, err := openBytes("big", write(t, s, nil), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "expected little-endian numbers")
}
