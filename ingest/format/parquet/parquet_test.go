package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"path/filepath"
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
		require.NoError(t, err, "%s: %v", name, err)

		if i := r.Info(); len(i.Channels) != len(truth) || len(i.Unread) != 2 {
			t.Fatalf("%s: %d channels, %+v", name, len(i.Channels), i.Unread)
		}

		for c, ch := range r.Info().Channels {
			want := truth[ch.Name]
			for _, span := range [][2]int{{0, 120}, {30, 60}, {119, 1}, {36, 3}} {
				x := make([]float64, span[1])
				if n, err := r.Read([]int{c}, int64(span[0]), [][]float64{x}); n != span[1] || err != nil {
					t.Fatal(name, ch.Name, n, err)
				}

				for k, v := range x {
					if w := want[span[0]+k]; w == nil != math.IsNaN(v) || w != nil && v != *w {
						t.Fatalf("%s, %s, row %d: %v", name, ch.Name, span[0]+k, v)
					}
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

	if i := r.Info(); len(i.Channels) != len(want) || len(i.Unread) != 1 || i.Unread[0].Name != "run" {
		t.Fatalf("%+v", i)
	}

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
	}{
		"time":         {"µs", 36e9, 1000},
		"time_ms":      {"ms", 36e6, 1000},
		"timestamp":    {"µs", 1795428000e6, 1000},
		"timestamp_ms": {"ms", 1795428000e3, 1000},
		"timestamp_ns": {"ns", 1795428000e9, 1000},
		"integer":      {"s", 0, 1},
	} {
		r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "times/"+name+".parquet"), ingest.Options{})

		info := r.Info()

		at, x := info.Channels[0], info.Channels[1]
		if !at.IsTime() || at.Unit != want.unit || math.Abs(x.RateHz/want.rate-1) > 1e-6 ||
			(len(info.Warnings) == 1 && info.Warnings[0].Code == "clock-unit") != (name == "integer") {
			t.Errorf("%s: %+v, %+v", name, info.Channels, info.Warnings)
		}

		v := ingesttest.ReadAll(t, r)
		if v[0][0] != want.first || math.Abs(v[1][199]-math.Sin(199.0/8)) > 1e-15 {
			t.Errorf("%s: %v, %v", name, v[0][0], v[1][199])
		}
	}
}

func TestText(t *testing.T) {
	b, err := Text(ingesttest.Source(ingesttest.Testdata(t, "zstd.parquet")))
	require.NoError(t, err)

	lines := strings.Split(string(b), "\n")
	if len(lines) != 122 || lines[0] != "Fx (N)\tfew\tgap\ti32\ti64\tnote\tok\trun\tsingle\ttime\tu32\tu64" ||
		lines[2] != "0.8414709848078965\t\t\t-39\t1.099511627776e+12\t\t0\trun 1\t0.5403022766113281\t0.0009765625\t"+
			"4.294967294e+09\t9.223372036854775808e+18" && !strings.HasPrefix(lines[2], "0.8414709848078965\t\t\t-39\t") {
		t.Errorf("%d lines: %q, %q", len(lines), lines[0], lines[2])
	}
}

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

	if i := r.Info(); len(i.Channels) != 2 || len(i.Unread) != 3 || i.Unread[0].Reason != "a nested column" {
		t.Errorf("%+v", i)
	}

	if x := ingesttest.ReadAll(t, r); x[0][1] != 2 || x[1][1] != 6 {
		t.Errorf("%v", x)
	}
}

// FuzzParquet reads any bytes. There is no panic, and errors are data errors. Files with more than 2^16 rows in a row
// group are left out, because a few bytes can repeat a number of a dictionary so often.
func FuzzParquet(f *testing.F) {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(names) < 10 {
		f.Fatal(names, err)
	}

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
	b[0], b[1] = 4<<4|9, 15<<4|12 // field 4, a list of structs
	n := binary.PutUvarint(b[2:], uint64(len(b)-8))
	deep := bytes.Repeat([]byte{1<<4 | 12}, 32<<20) // field 1, a struct
	ingesttest.Bounded(t, b, 1<<20, 0, func() {
		if _, err := decodeThrift(b, new(format.FileMetaData)); !errors.Is(err, errMany) || n != 4 {
			t.Error(err)
		}

		if _, err := decodeThrift(deep, new(format.FileMetaData)); !errors.Is(err, errThrift) {
			t.Error(err)
		}
	})
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
