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

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/endian"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kindFile is a file written by Arrow's library.
type kindFile struct {
	name  string
	bytes []byte
}

// write returns the file that Arrow's library writes of records.
func write(tb testing.TB, schema *arrow.Schema, records []arrow.Record, o ...ipc.Option) []byte {
	tb.Helper()

	f, err := os.Create(filepath.Join(tb.TempDir(), "kind"))
	require.NoError(tb, err)
	defer f.Close()

	w, err := ipc.NewFileWriter(f, append(o, ipc.WithSchema(schema))...)
	require.NoError(tb, err)

	for _, record := range records {
		require.NoError(tb, w.Write(record))
	}

	require.NoError(tb, w.Close())

	return testfile.Read(tb, f.Name())
}

// kindFiles returns files with columns of every type, stored in every way. Each call returns the same bytes.
func kindFiles(tb testing.TB) []kindFile {
	tb.Helper()

	w := &kindWriter{tb: tb}
	w.numbers()
	w.long()
	w.others()

	return w.files
}

// rate is metadata with a sampling rate.
var rate = arrow.NewMetadata([]string{"fs", "empty"}, []string{"6400", ""})

// kindWriter writes the files of kindFiles.
type kindWriter struct {
	tb    testing.TB
	files []kindFile
}

// add adds a file with some records.
func (w *kindWriter) add(name string, schema *arrow.Schema, records []arrow.Record, o ...ipc.Option) {
	w.files = append(w.files, kindFile{name, write(w.tb, schema, records, o...)})
}

// records returns records whose rows are given as JSON.
func (w *kindWriter) records(s *arrow.Schema, json ...string) (records []arrow.Record) {
	for _, j := range json {
		r, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(j), array.WithUseNumber())
		require.NoError(w.tb, err, "%s", j)

		records = append(records, r)
	}

	return records
}

// column adds a file with a column x. Each text is a record, and has its values as JSON, separated by |.
func (w *kindWriter) column(name string, t arrow.DataType, values ...string) {
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

	w.add(name, s, w.records(s, json...))
}

// field returns a field whose values may be missing.
func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// numbers adds files with columns of all types of numbers.
func (w *kindWriter) numbers() {
	types := []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	}

	var fields []arrow.Field
	for i, t := range types {
		f := field(fmt.Sprintf("n%d", i), t)
		f.Metadata = arrow.NewMetadata([]string{"unit", "ARROW:extension:name"}, []string{"Pa", "of nobody"})
		fields = append(fields, f)
	}

	numbers := arrow.NewSchema(fields, &rate)
	row := func(v string) string {
		var s []string
		for i := range types {
			s = append(s, fmt.Sprintf(`"n%d":%s`, i, v))
		}

		return "{" + strings.Join(s, ",") + "}"
	}

	two := w.records(numbers, "["+row("1")+","+row("null")+","+row("3")+"]", "[]", "["+row("100")+"]")
	w.add("numbers", numbers, two)
	w.add("numbers, LZ4", numbers, two, ipc.WithLZ4())
	w.add("numbers, Zstandard", numbers, two, ipc.WithZstd())
	w.add("numbers, only where it helps", numbers, two, ipc.WithZstd(), ipc.WithMinSpaceSavings(0.1))
	w.add("no batch", numbers, nil)
	w.add("no column", arrow.NewSchema(nil, nil), nil)
}

// long adds files whose values fill several compressed blocks: 40,000 values of period 250, and noise.
func (w *kindWriter) long() {
	long := arrow.NewSchema([]arrow.Field{field("x", arrow.PrimitiveTypes.Float64)}, &rate)
	b := array.NewRecordBuilder(memory.DefaultAllocator, long)
	for i := range 40000 {
		b.Field(0).(*array.Float64Builder).Append(float64(i % 250))
	}

	rec := b.NewRecord()
	w.add("long, LZ4", long, []arrow.Record{rec}, ipc.WithLZ4())
	w.add("long, Zstandard", long, []arrow.Record{rec}, ipc.WithZstd())

	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b.Field(0).(*array.Float64Builder).Append(rng.NormFloat64())
	}

	noise := []arrow.Record{b.NewRecord()}
	w.add("noise, LZ4", long, noise, ipc.WithLZ4())
	w.add("noise, Zstandard", long, noise, ipc.WithZstd())
}

// others adds files with columns of all other types.
func (w *kindWriter) others() {
	w.column("null", arrow.Null, "null|null")
	w.column("bool", arrow.FixedWidthTypes.Boolean, "true|null|false")
	w.column("text", arrow.BinaryTypes.String, `"a"|null|"ünï"`, `""`)
	w.column("large text", arrow.BinaryTypes.LargeString, `"a"|null|"bcd"`)
	w.column("bytes", arrow.BinaryTypes.Binary, `"YQ=="|null`)
	w.column("large bytes", arrow.BinaryTypes.LargeBinary, `"YQ=="|null`)
	w.column("text views", arrow.BinaryTypes.StringView, `"short"|null|"longer than the twelve bytes of a view"`)
	w.column("byte views", arrow.BinaryTypes.BinaryView, `"YQ=="|null`)
	w.column("bytes of a size", &arrow.FixedSizeBinaryType{ByteWidth: 3}, `"YWJj"|null`)
	w.column("date", arrow.FixedWidthTypes.Date32, `"2024-02-29"|null`)
	w.column("date in ms", arrow.FixedWidthTypes.Date64, `"2024-02-29"|null`)
	w.column("time", arrow.FixedWidthTypes.Time32ms, `"12:30:01.5"|null`)
	w.column("time in ns", arrow.FixedWidthTypes.Time64ns, `"12:30:01.5"|null`)
	w.column("timestamp", arrow.FixedWidthTypes.Timestamp_us, `"2024-02-29 12:30:01"|null`)
	w.column("timestamp with zone", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
		`"2024-02-29 12:30:01"|null`)
	w.column("duration", arrow.FixedWidthTypes.Duration_ms, `12|null`)
	w.column("months", arrow.FixedWidthTypes.MonthInterval, `{"months":3}|null`)
	w.column("days", arrow.FixedWidthTypes.DayTimeInterval, `{"days":3,"milliseconds":4}|null`)
	w.column("months, days, ns", arrow.FixedWidthTypes.MonthDayNanoInterval, `{"months":1,"days":3,"nanoseconds":4}|null`)
	w.column("decimal", &arrow.Decimal128Type{Precision: 10, Scale: 2}, `"12.34"|null`)
	w.column("long decimal", &arrow.Decimal256Type{Precision: 50, Scale: 2}, `"12.34"|null`)
	w.column("list", arrow.ListOf(arrow.PrimitiveTypes.Float32), `[1,2]|null|[]|[3]`, `[4]`)
	w.column("empty list", arrow.ListOf(arrow.PrimitiveTypes.Float32), ``, `[]`)
	w.column("large list", arrow.LargeListOf(arrow.PrimitiveTypes.Int16), `[1,2]|null|[]`)
	w.column("list view", arrow.ListViewOf(arrow.PrimitiveTypes.Int16), `[1,2]|null|[]`)
	w.column("large list view", arrow.LargeListViewOf(arrow.PrimitiveTypes.Int16), `[1,2]|null|[]`)
	w.column("list of a size", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), `[1,2]|null|[3,4]`)
	inner := arrow.StructOf(field("a", arrow.PrimitiveTypes.Int8), field("b", arrow.ListOf(arrow.BinaryTypes.String)))
	w.column("struct", inner, `{"a":1,"b":["x","y"]}|null|{"a":null,"b":null}`)
	w.column("list of structs", arrow.ListOf(inner), `[{"a":1,"b":["x"]}]|null`)
	w.column("map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32),
		`[{"key":"k","value":1},{"key":"l","value":null}]|null`)
	w.column("map of maps", arrow.MapOf(arrow.BinaryTypes.String,
		arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8)), `[{"key":"k","value":[{"key":"m","value":5}]}]`)
	either := []arrow.Field{field("i", arrow.PrimitiveTypes.Int32), field("t", arrow.BinaryTypes.String)}
	w.column("sparse union", arrow.SparseUnionOf(either, []arrow.UnionTypeCode{3, 5}), `[3,1]|[5,"x"]`)
	w.column("dense union", arrow.DenseUnionOf(either, []arrow.UnionTypeCode{3, 5}), `[3,1]|[5,"x"]|[5,"y"]`)
	w.column("runs", arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `"a"|"a"|"b"|null`)
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	w.column("dictionary", words, `"a"|"b"|null|"a"`)
	w.column("dictionary of numbers", &arrow.DictionaryType{
		IndexType: arrow.PrimitiveTypes.Uint16,
		ValueType: arrow.PrimitiveTypes.Float64,
	}, `1|2|1`)

	w.column("dictionary in a struct", arrow.StructOf(field("w", words)), `{"w":"a"}|{"w":"b"}`)
	w.column("two dictionaries", arrow.StructOf(field("v", words), field("w", words)),
		`{"v":"a","w":"c"}|{"v":"b","w":"d"}`)
}

// schemaFile returns a file without batches. Its schema is the table at the index at of b.
func schemaFile(b []byte, at int) []byte {
	f := append([]byte{
		12, 0, 0, 0, // the footer is at byte 12, its layout before it: the schema at 4
		8, 0, 8, 0, 0, 0, 4, 0,
		8, 0, 0, 0, byte(4 + at), 0, 0, 0,
	}, b...)

	f = binary.LittleEndian.AppendUint32(f, uint32(len(f)))

	return append(append([]byte("ARROW1\x00\x00"), f...), "ARROW1"...)
}

// Apache's library for Go reads the same types, units, attributes and numbers, from files of every kind that it writes
// and from all files in testdata, which other programs wrote.
func TestKinds(t *testing.T) {
	files := map[string][]byte{}
	for _, k := range kindFiles(t) {
		files[k.name] = k.bytes
	}

	for _, pattern := range []string{"testdata/*.arrow", "testdata/*/*.arrow"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err, "%s", pattern)
		require.NotEmpty(t, paths, "%s", pattern)

		for _, path := range paths {
			files[path] = testfile.Read(t, path)
		}
	}

	for name, b := range files {
		t.Run(name, func(t *testing.T) { compare(t, b) })
	}
}

// compare reads a file by package arrow and by Apache's library, and compares the results.
func compare(t *testing.T, b []byte) {
	other, err := ipc.NewFileReader(bytes.NewReader(b))
	require.NoError(t, err)
	defer other.Close()

	f, err := openFile(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)

	schema := other.Schema()
	require.Len(t, f.columns, schema.NumFields(), "columns")
	require.Len(t, f.batches, other.NumRecords(), "batches")

	assert.Equal(t, schema.Metadata().ToMap(), pairs(f.attributes, ""), "attributes")

	for i, c := range f.columns {
		field := schema.Field(i)
		assert.Equal(t, field.Name, c.name, "name of column %d", i)
		assert.Contains(t, typeName(field.Type), c.title, "type of column %s", c.name)

		assert.Equal(t, field.Metadata.ToMap(), pairs(c.attributes, c.unit), "column %s: attributes", c.name)

		p := &plane{f: f, c: c}
		from := int64(0)
		for k := range f.batches {
			rec, err := other.RecordAt(k)
			require.NoError(t, err)

			got := make([]float64, f.ends[k]-from)
			require.Equal(t, rec.NumRows(), int64(len(got)), "rows")

			if c.number {
				require.NoError(t, p.Read([]int{0}, from, [][]float64{got}))

				for j, v := range got {
					want := number(t, rec.Column(i), j)
					require.Equal(t, want, fmt.Sprint(v), "column %s, batch %d, row %d", c.name, k+1, j)
				}
			}

			rec.Release()
			from = f.ends[k]
		}
	}
}

// pairs returns the values of attributes by their names, and the unit by the name unit.
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

// typeName returns package arrow's name of a type. For a nested type, it is the name of the outermost type.
func typeName(t arrow.DataType) string {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}

	if _, ok := t.(arrow.NestedType); ok {
		return t.Name()
	}

	return t.String()
}

// number returns value i of an array as the text of a number, and NaN if it is missing.
func number(t *testing.T, a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NaN"
	}

	v, err := strconv.ParseFloat(a.ValueStr(i), 64)
	require.NoError(t, err)

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
