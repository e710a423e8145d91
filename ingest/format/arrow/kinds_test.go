package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/endian"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"doubletake/ingest"
)

// kindFile is a file written by Arrow's library, and the values it was given.
type kindFile struct {
	name    string
	records []arrow.Record
	bytes   []byte
}

// kindFiles writes files of every type and every way of storing them. The bytes
// are the same each time.
func kindFiles(tb testing.TB) []kindFile {
	tb.Helper()
	var out []kindFile
	write := func(name string, schema *arrow.Schema, records []arrow.Record, o ...ipc.Option) {
		f, err := os.Create(filepath.Join(tb.TempDir(), "kind"))
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()

		w, err := ipc.NewFileWriter(f, append(o, ipc.WithSchema(schema))...)
		if err != nil {
			tb.Fatal(err)
		}

		for _, r := range records {
			if err := w.Write(r); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
		}

		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}

		b, err := os.ReadFile(f.Name())
		if err != nil {
			tb.Fatal(err)
		}

		out = append(out, kindFile{name, records, b})
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
	grown := arrow.NewSchema([]arrow.Field{field("x", arrow.PrimitiveTypes.Float64), field("w", words)}, nil)

	all, _, err := array.FromJSON(memory.DefaultAllocator, arrow.BinaryTypes.String, strings.NewReader(`["a","b","c"]`))
	if err != nil {
		tb.Fatal(err)
	}

	var growing, whole []arrow.Record // as written; as read, with all the words
	for i := range 3 {
		x, _, err := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Float64,
			strings.NewReader(fmt.Sprintf("[%d]", i)))
		if err != nil {
			tb.Fatal(err)
		}

		index, _, err := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int8,
			strings.NewReader(fmt.Sprintf("[%d]", i)))
		if err != nil {
			tb.Fatal(err)
		}

		part := array.NewDictionaryArray(words, index, array.NewSlice(all, 0, int64(i+1)))
		growing = append(growing, array.NewRecord(grown, []arrow.Array{x, part}, 1))
		whole = append(whole, array.NewRecord(grown, []arrow.Array{x, array.NewDictionaryArray(words, index, all)}, 1))
	}

	out = append(out, kindFile{
		"growing dictionary", whole,
		streamFile(tb, grown, growing, ipc.WithDictionaryDeltas(true)),
	},
		kindFile{
			"growing dictionary, Zstandard", whole,
			streamFile(tb, grown, growing, ipc.WithDictionaryDeltas(true), ipc.WithZstd()),
		})

	return out
}

// streamFile makes a file of a stream: the library's writer of files does not
// write dictionaries that grow.
func streamFile(tb testing.TB, s *arrow.Schema, records []arrow.Record, o ...ipc.Option) []byte {
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, append(o, ipc.WithSchema(s))...)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			tb.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}

	b := append([]byte("ARROW1\x00\x00"), stream.Bytes()...)
	var blocks [2][]block // of dictionaries, of batches

	var schema []byte
	for at := 8; ; {
		n := int(binary.LittleEndian.Uint32(b[at+4:]))
		if n == 0 {
			break
		}

		message, err := verifyFlat(b[at+8:at+8+n], formMessage, "message")
		if err != nil {
			if schema == nil { // its kind is none of those in files
				schema = b[at+8 : at+8+n]
				at += 8 + n
				continue
			}

			tb.Fatal(err)
		}

		k := block{at: int64(at), meta: int64(8 + n), body: message.long(3)}
		i := message.byte(1) - messageDictionary
		blocks[i] = append(blocks[i], k)
		at += int(k.meta + k.body)
	}

	header, _ := node{schema, int(binary.LittleEndian.Uint32(schema))}.table(2)

	return appendFooter(b, header, blocks[0], blocks[1])
}

// appendFooter appends a footer with these blocks and the schema, a table of
// another buffer.
func appendFooter(b []byte, schema node, dictionaries, batches []block) []byte {
	f := make([]byte, 40)
	put := func(at, v int) { binary.LittleEndian.PutUint32(f[at:], uint32(v)) }
	put(0, 20) // the table

	for i, v := range []uint16{12, 20, 16, 4, 8, 12, 0} { // its layout from byte 4 on
		binary.LittleEndian.PutUint16(f[4+2*i:], v)
	}

	put(20, 16)
	binary.LittleEndian.PutUint16(f[36:], 4) // V5
	vector := func(slot int, blocks []block) {
		put(slot, len(f)-slot)

		f = binary.LittleEndian.AppendUint32(f, uint32(len(blocks)))
		for _, k := range blocks {
			f = binary.LittleEndian.AppendUint64(f, uint64(k.at))
			f = binary.LittleEndian.AppendUint64(f, uint64(k.meta))
			f = binary.LittleEndian.AppendUint64(f, uint64(k.body))
		}
	}

	vector(28, dictionaries)
	vector(32, batches)
	put(24, len(f)+schema.at-24)
	f = append(f, schema.b...)
	b = append(b, f...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))

	return append(b, "ARROW1"...)
}

// Files of every kind that Arrow's library writes pass verification, and read back
// as written. Expected: the records that were
// written.
func TestVerifyKinds(t *testing.T) {
	for _, k := range kindFiles(t) {
		t.Run(k.name, func(t *testing.T) {
			f, err := openFile(bytes.NewReader(k.bytes), int64(len(k.bytes)))
			if err != nil {
				t.Fatal(err)
			}
			defer f.ipc.Close()

			if len(f.rows) != len(k.records) {
				t.Fatalf("%d batches, expected %d", len(f.rows), len(k.records))
			}

			for i, want := range k.records {
				got, err := f.load(i)
				if err != nil {
					t.Fatal(err)
				}

				if f.rows[i] != want.NumRows() || !array.RecordEqual(got, want) {
					t.Errorf("batch %d: %v, expected %v", i+1, got, want)
				}

				got.Release()
			}
		})
	}
}

// Numbers of every type come as channels, batch after batch, and a missing one is
// NaN. Expected: the values that were written, 1, none, 3 and 100.
func TestRecordingKinds(t *testing.T) {
	for _, k := range kindFiles(t) {
		if !strings.HasPrefix(k.name, "numbers") {
			continue
		}

		r, err := openBytes(k.name, k.bytes, ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}

		if n := len(r.Info().Channels); n != 11 {
			t.Fatalf("%s: %d channels", k.name, n)
		}

		for c, ch := range r.Info().Channels {
			if ch.RateHz != 6400 || ch.Unit != "Pa" || ch.Samples != 4 {
				t.Errorf("%s: %+v", k.name, ch)
			}

			x := make([]float64, 4)
			if n, err := r.Read([]int{c}, 0, [][]float64{x}); n != 4 || err != nil {
				t.Fatalf("%s: %s: %d, %v", k.name, ch.Name, n, err)
			}

			if x[0] != 1 || !math.IsNaN(x[1]) || x[2] != 3 || x[3] != 100 {
				t.Errorf("%s: %s: %v", k.name, ch.Name, x)
			}
		}

		r.Close()
	}
}

// openBytes opens bytes as a recording.
func openBytes(name string, b []byte, o ingest.Options) (ingest.Reader, error) {
	return open(ingest.Source{Path: name, ReaderAt: bytes.NewReader(b), Size: int64(len(b))}, o)
}

// openPath opens a file as a recording.
func openPath(path string, o ingest.Options) (ingest.Reader, error) {
	src, err := ingest.OpenSource(path)
	if err != nil {
		return nil, err
	}

	r, err := open(src, o)
	if err != nil {
		_ = src.Close()
		return nil, err
	}

	return r, nil
}

// bigEndian writes a file with the values' bytes in the other order, as its schema
// states.
func bigEndian(tb testing.TB) []byte {
	s := arrow.NewSchemaWithEndian([]arrow.Field{
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "i", Type: arrow.PrimitiveTypes.Int16},
	}, nil, endian.NonNativeEndian)

	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range 3 {
		b.Field(0).(*array.Float64Builder).Append(
			math.Float64frombits(bits.ReverseBytes64(math.Float64bits(float64(i) + 0.5))))
		b.Field(1).(*array.Int16Builder).Append(int16(bits.ReverseBytes16(uint16(300 + i))))
	}

	f, err := os.Create(filepath.Join(tb.TempDir(), "big"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()

	w, err := ipc.NewFileWriter(f, ipc.WithSchema(s))
	if err == nil {
		err = w.Write(b.NewRecord())
	}

	if err == nil {
		err = w.Close()
	}

	if err != nil {
		tb.Fatal(err)
	}

	out, err := os.ReadFile(f.Name())
	if err != nil {
		tb.Fatal(err)
	}

	return out
}

// Expected: i + 0.5 and 300 + i, whose bytes were put in the other order.
func TestRecordingBigEndian(t *testing.T) {
	b := bigEndian(t)
	r, err := openBytes("big", b, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	x, i := make([]float64, 3), make([]float64, 3)
	if n, err := r.Read([]int{0, 1}, 0, [][]float64{x, i}); n != 3 || err != nil {
		t.Fatal(n, err)
	}

	if fmt.Sprint(x, i) != "[0.5 1.5 2.5] [300 301 302]" {
		t.Error(x, i)
	}
}

// Witness: testdata/polars was written by Polars (polars/write.mjs) of the values
// repeated here.
func TestRecordingPolars(t *testing.T) {
	same := func(a, b float64) bool { return a == b || a != a && b != b }

	twelve := [4][]float64{}
	for i := range 12 {
		f := float64(i)
		for c, v := range []float64{f / 8, 100 - 3*f, f * f / 3, f} {
			twelve[c] = append(twelve[c], v)
		}
	}

	twelve[2][7], twelve[3][2] = math.NaN(), math.NaN()

	var long []float64
	for i := range 40000 {
		long = append(long, float64(i%250))
	}

	for name, want := range map[string][][]float64{
		"uncompressed": twelve[:], "lz4": twelve[:], "zstd": twelve[:],
		"long-lz4": {long}, "long-zstd": {long}, "empty": {{}, {}, {}, {}},
	} {
		r, err := openPath("testdata/polars/"+name+".arrow", ingest.Options{RateHz: 1000})
		if err != nil {
			t.Error(err)
			continue
		}

		info := r.Info()
		if unread := len(info.Unread); len(info.Channels) != len(want) || len(want) == 4 && unread != 5 {
			t.Fatalf("%s: %+v", name, info)
		}

		for c := range want {
			x := make([]float64, len(want[c])+1)
			n, err := r.Read([]int{c}, 0, [][]float64{x})
			if err != io.EOF || !slices.EqualFunc(x[:n], want[c], same) {
				t.Errorf("%s: %s: %v, %v, expected %v", name, info.Channels[c].Name, x[:min(n, 12)], err,
					want[c][:min(len(want[c]), 12)])
			}
		}

		r.Close()
	}
}
