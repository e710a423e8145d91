package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/ingesttest"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/snappy_v1.parquet", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println(r.Info().Encoding, r.Info().Attributes)

	for _, c := range r.Info().Channels[:2] {
		fmt.Println(c.Name, c.Unit, c.RateHz, c.Samples)
	}
	// Output:
	// Parquet, 4 row groups [{rpm 3000}]
	// Fx N 1024 120
	// few  1024 120
}

// The files have the values that parquet-go was given (testdata/make.go.txt).
func TestTruth(t *testing.T) {
	truth := map[string][]*float64{}
	require.NoError(t, json.Unmarshal(ingesttest.Testdata(t, "truth.json"), &truth))

	for _, name := range []string{
		"plain_v1", "plain_v2", "dictionary_v1", "dictionary_v2", "snappy_v1", "snappy_v2", "gzip", "zstd", "split",
	} {
		b := ingesttest.Testdata(t, name+".parquet")
		assert.True(t, detect(b[:min(len(b), 1024)], ingesttest.Source(b)), "%s is not detected", name)

		r, err := Format.Open(ingesttest.Source(b), ingest.Options{})
		require.NoError(t, err, "%s", name)
		require.Len(t, r.Info().Channels, len(truth), "%s: channels", name)
		require.Len(t, r.Info().Unread, 2, "%s: columns of texts", name)

		for c, ch := range r.Info().Channels {
			want := truth[ch.Name]
			for _, span := range [][2]int{{0, 120}, {30, 60}, {119, 1}, {36, 3}} {
				x := make([]float64, span[1])
				n, err := r.Read([]int{c}, int64(span[0]), [][]float64{x})
				require.NoError(t, err, "%s, %s from row %d on", name, ch.Name, span[0])
				require.Equal(t, span[1], n, "%s, %s from row %d on: rows read", name, ch.Name, span[0])

				for k, v := range x {
					w := math.NaN() // a missing value
					if stated := want[span[0]+k]; stated != nil {
						w = *stated
					}

					ingesttest.Equal(t, []float64{v}, []float64{w})
				}
			}
		}
	}
}

// DuckDB wrote the file by the formulas here (testdata/make_duckdb.mjs).
func TestDuckDB(t *testing.T) {
	r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "duckdb.parquet"), ingest.Options{})

	want := map[string]func(i int) float64{
		"i": func(i int) float64 { return float64(i) }, "x": func(i int) float64 { return float64(i) / 8 },
		"single": func(i int) float64 { return float64(i) / 8 }, "few": func(i int) float64 { return float64(i % 5) },
		"gap": func(i int) float64 {
			if i%3 == 0 {
				return math.NaN()
			}
			return float64(i) * 1e9
		},
		"even": func(i int) float64 { return float64(1 - i%2) },
	}

	require.Len(t, r.Info().Channels, len(want))
	require.Len(t, r.Info().Unread, 1)
	assert.Equal(t, "run", r.Info().Unread[0].Name)

	for c, x := range ingesttest.ReadAll(t, r) {
		w := make([]float64, 3000)
		for i := range w {
			w[i] = want[r.Info().Channels[c].Name](i)
		}

		ingesttest.Equal(t, x, w)
	}
}

// Each file has 200 rows at 1000 Hz, and a time of another type. DuckDB wrote the files in testdata/times, except the
// one with TIME in ms, which parquet-go wrote. Whole numbers without a unit are taken as seconds, with a warning.
func TestTimes(t *testing.T) {
	for name, want := range map[string]struct {
		unit  string
		first float64
		rate  float64
		codes string // of warnings
	}{
		"time":         {"µs", 36e9, 1000, ""},
		"time_ms":      {"ms", 36e6, 1000, ""},
		"timestamp":    {"µs", 1795428000e6, 1000, ""},
		"timestamp_ms": {"ms", 1795428000e3, 1000, ""},
		"timestamp_ns": {"ns", 1795428000e9, 1000, ""},
		"integer":      {"s", 0, 1, "clock-unit"},
	} {
		r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "times/"+name+".parquet"), ingest.Options{})

		info := r.Info()
		assert.True(t, info.Channels[0].IsTime(), "%s: is the time", name)
		assert.Equal(t, want.unit, info.Channels[0].Unit, "%s: unit", name)
		assert.InEpsilon(t, want.rate, info.Channels[1].RateHz, 1e-6, "%s: rate", name)
		assert.Equal(t, want.codes, ingesttest.Codes(info.Warnings), "%s: warnings", name)

		v := ingesttest.ReadAll(t, r)
		assert.Equal(t, want.first, v[0][0], "%s: first time", name)
		assert.InDelta(t, math.Sin(199.0/8), v[1][199], 1e-15, "%s: last value", name)
	}
}

// Text writes the values that the writer of the file was given (testdata/README.md).
func TestText(t *testing.T) {
	b, err := Text(ingesttest.Source(ingesttest.Testdata(t, "zstd.parquet")))
	require.NoError(t, err)

	lines := strings.Split(string(b), "\n")
	require.Len(t, lines, 122, "a header, 120 rows and the end")
	assert.Equal(t, "Fx (N)\tfew\tgap\ti32\ti64\tnote\tok\trun\tsingle\ttime\tu32\tu64", lines[0])
	assert.Equal(t, "0.8414709848078965\t\t\t-39\t1.099511627776e+12\t\t0\trun 1\t0.5403022766113281\t0.0009765625\t"+
		"4.294967294e+09\t9.223372036854776e+18", lines[2], "integers are written as float64")
}

// Files that are cut off or encrypted are refused. Columns that are not supported are listed with the reason, and other
// columns are read.
func TestRefused(t *testing.T) {
	b := ingesttest.Testdata(t, "plain_v1.parquet")
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{b[:len(b)-3], `expected "PAR1"`},
		{b[:11], "expected a Parquet file, found 11 bytes"},
		{append(bytes.Clone(b[:len(b)-8]), "\xff\xff\xff\x7fPAR1"...), "expected a footer within"},
		{append(bytes.Clone(b[:len(b)-8]), "\x10\x00\x00\x00PARE"...), "expected a footer that is not encrypted"},
		{ingesttest.Testdata(t, "brotli.parquet"), "compression 4 (Brotli) is not read"},
	} {
		r, err := Format.Open(ingesttest.Source(c.b), ingest.Options{})
		ingesttest.WantDataError(t, r, err, c.want)
	}

	r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "delta.parquet"), ingest.Options{})

	_, err := ingest.FindChannel(r.Info(), "i32")
	ingesttest.WantDataError(t, nil, err, "i32: encoding 5 (delta binary packed) is not read")

	r = ingesttest.Open(t, Format, ingesttest.Testdata(t, "nested.parquet"), ingest.Options{})

	require.Len(t, r.Info().Channels, 2)
	require.Len(t, r.Info().Unread, 3)
	assert.Equal(t, "a nested column", r.Info().Unread[0].Reason)

	x := ingesttest.ReadAll(t, r)
	assert.Equal(t, 2.0, x[0][1])
	assert.Equal(t, 6.0, x[1][1])
}

// FuzzParquet reads any bytes. There is no panic, and errors are data errors. Files with more than 2^16 rows in a row
// group are left out, because a few bytes can repeat a number of a dictionary so often.
func FuzzParquet(f *testing.F) {
	names, err := filepath.Glob("testdata/*.parquet")
	require.NoError(f, err)
	require.GreaterOrEqual(f, len(names), 10, "seeds")

	for _, n := range names {
		f.Add(ingesttest.Testdata(f, filepath.Base(n)))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 || len(b) == 0 {
			return
		}

		var r ingest.Reader
		var err error
		ingesttest.Bounded(t, b, 1<<20, 256, func() { r, err = Format.Open(ingesttest.Source(b), ingest.Options{}) })
		if err != nil {
			ingesttest.WantDataError(t, nil, err)
			return
		}

		if r.Info().Channels[0].Samples > 1<<16 {
			return
		}

		for c := range r.Info().Channels[:min(16, len(r.Info().Channels))] {
			ingesttest.Bounded(t, b, 32<<20, 1024, func() {
				if _, err := r.Read([]int{c}, 0, [][]float64{make([]float64, 100)}); err != nil && err.Error() != "EOF" {
					ingesttest.WantDataError(t, nil, err)
				}
			})
		}
	})
}

// A footer of 32 MiB with only empty structs is refused and takes little memory, and so is a footer of structs within
// structs.
func TestEmptyStructs(t *testing.T) {
	b := bytes.Repeat([]byte{0}, 32<<20)
	b[0] = 4<<4 | 9   // field 4, a list
	b[1] = 15<<4 | 12 // of structs
	n := binary.PutUvarint(b[2:], uint64(len(b)-8))
	require.Equal(t, 4, n, "bytes of the length of the list")

	deep := bytes.Repeat([]byte{1<<4 | 12}, 32<<20) // field 1, a struct
	ingesttest.Bounded(t, b, 1<<20, 0, func() {
		_, err := decodeThrift(b, new(format.FileMetaData))
		assert.ErrorIs(t, err, errMany, "a long list")

		_, err = decodeThrift(b[:1<<20], new(format.FileMetaData))
		assert.ErrorIs(t, err, errThrift, "a list longer than the footer")

		_, err = decodeThrift(deep, new(format.FileMetaData))
		assert.ErrorIs(t, err, errThrift, "structs in structs")
	})
}

// An intact file whose footer has more row groups than can be read is not called damaged. Its footer has 300 lists of
// 255 empty structs, which take 258 bytes each: 300 · 256 = 76800 elements, more than 65536 + 300 · 258 / 64 = 66745.
func TestManyRowGroups(t *testing.T) {
	const count = 300
	footer := binary.AppendUvarint([]byte{1<<4 | 9, 15<<4 | 9}, count) // field 1, a list of lists
	for range count {
		footer = append(footer, 15<<4|12, 255, 1) // a list of 255 structs
		footer = append(footer, make([]byte, 255)...)
	}

	footer = append(footer, 0)
	b := slices.Concat([]byte(magic), footer, binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), []byte(magic))

	_, err := openFile(ingest.Source{Path: "a.parquet", ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
	require.ErrorIs(t, err, errMany)
	assert.ErrorContains(t, err, "in all lists")
	assert.ErrorContains(t, err, "(write larger row groups)")
	assert.NotContains(t, err.Error(), "damaged")
}

// readHybrid returns the error of reading a page of ten numbers.
func readHybrid(page []byte) (err error) {
	defer decode.Catch(&err)
	hybrid(page, 1, 10)

	return nil
}

// A run of 2^30 numbers in a page of ten numbers is refused and takes little memory.
func TestLongRun(t *testing.T) {
	b := append(binary.AppendUvarint(nil, 1<<30<<1), 1)
	ingesttest.Bounded(t, b, 1<<16, 0, func() {
		assert.ErrorContains(t, readHybrid(b), errPage.Error())
	})
}
