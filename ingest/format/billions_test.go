package format

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files of some thousand bytes may declare billions of samples, or have none of those that they declare. In every
// format, such a file gives at most 2^26 samples, and at most 2^20 if it ends without an error. An error names the file
// and the place. The test says so if opening and reading takes more than a second of processor time or 64 MiB. Each
// file is a sound file, most by another program, into which the test writes the number.
func TestBillions(t *testing.T) {
	files := billions(t)
	for _, f := range All() {
		assert.Contains(t, files, f.Name, "a file of each format that declares billions of samples")

		for _, truncated := range []string{"", "use"} {
			for i, b := range files[f.Name] {
				best := time.Hour // shortest time of several attempts, because other processes slow some of them down
				for range 3 {
					start := ingesttest.CPU()
					var n int64
					var err error
					ingesttest.Bounded(t, b, 64<<20, 0, func() { n, err = pass(b, f.Name, truncated) })
					best = min(best, ingesttest.CPU()-start)
					assert.LessOrEqual(t, n, int64(1<<26), "%s %d %s: samples", f.Name, i, truncated)
					if err == nil {
						assert.LessOrEqual(t, n, int64(1<<20), "%s %d %s: samples of a file without an error", f.Name, i, truncated)
					} else {
						var damage *fault.Error
						assert.ErrorAs(t, err, &damage, "%s %d %s", f.Name, i, truncated)
					}

					t.Logf("%s %d %s: %d samples, %v, %v", f.Name, i, truncated, n, ingesttest.CPU()-start, err)
				}

				ingesttest.ReportBound(t, fmt.Sprintf("processor time for %s %d %s", f.Name, i, truncated), best, time.Second)
			}
		}
	}
}

// billions returns files that declare billions of samples, by format.
func billions(t *testing.T) map[string][][]byte {
	le, be := binary.LittleEndian, binary.BigEndian
	read := func(name string) []byte {
		b := testfile.Read(t, name)

		return b
	}

	// change overwrites the bytes behind the first occurrence of a text.
	change := func(b []byte, after string, do func(b []byte)) []byte {
		i := bytes.Index(b, []byte(after))
		require.GreaterOrEqual(t, i, 0, "no %q", after)

		do(b[i+len(after):])

		return b
	}

	swap := func(name, old, with string) []byte {
		b := read(name)
		require.True(t, bytes.Contains(b, []byte(old)), "no %q in %s", old, name)

		return bytes.ReplaceAll(b, []byte(old), []byte(with))
	}

	npy := ingesttest.NPY("<f8", false, make([]byte, 64), 20_000_000_000)
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	w, err := z.Create("x.npy")
	require.NoError(t, err)
	_, err = w.Write(npy)
	require.NoError(t, err)
	require.NoError(t, z.Close())

	wav := ingesttest.PCM16(1, 1, 2, 3)
	wav.Claim = 0xFFFFFFF0
	flac := read("flac/testdata/order0.flac")
	const number = 1<<36 - 1 // samples
	be.PutUint64(flac[18:], be.Uint64(flac[18:])|number)
	flacPipe := bytes.Clone(flac) // the number is not stated: all frames are counted
	be.PutUint64(flacPipe[18:], be.Uint64(flacPipe[18:])&^number)
	rows := func(n uint64) string { return string(le.AppendUint64(nil, n)) }

	return map[string][][]byte{
		"wav": {wav.Bytes(), change(read("testdata/sound/sf_pcm_16_file.rf64"), "ds64", func(b []byte) {
			le.PutUint64(b[4:], 1<<60)
			le.PutUint64(b[12:], 1<<60)
			le.PutUint64(b[20:], 1<<60)
		}), change(read("testdata/sound/sf_pcm_16_file.w64"), "data", func(b []byte) { le.PutUint64(b[12:], 1<<60) })},
		"flac": {flac, flacPipe},
		"tdms": {change(read("testdata/arrays/run.tdms"), "\x14\x00\x00\x00", func(b []byte) {
			le.PutUint64(b[8:], 1<<40)
		})},
		"uff": {
			swap("uff/testdata/text_even_real.uff", "        23         1", "2000000000         1"),
			swap("uff/testdata/binary_even_real.uff", "        23         1", "2000000000         1"),
		},
		"netcdf": {change(read("netcdf/testdata/netcdf3_classic.nc"), "CDF\x01", func(b []byte) {
			be.PutUint32(b, math.MaxInt32)
		}), change(read("netcdf/testdata/scipy_1.nc"), "\x00\x00\x00\x0A", func(b []byte) {
			name := int(be.Uint32(b[4:]))
			be.PutUint32(b[8+(name+3)/4*4:], math.MaxInt32)
		})},
		"lvm":  {swap("lvm/testdata/one_x.lvm", "Samples\t21", "Samples\t2000000000")},
		"hdf5": {read("testdata/conventions/billions.h5")},
		"mat": {swap("matfile/testdata/sound_pcm_16.mat", "\x02\x00\x00\x00\x0C\x00\x00\x00",
			"\x01\x00\x00\x00\xFF\xFF\xFF\x7F")},
		"npz":     {zipped.Bytes()},
		"npy":     {npy},
		"arrow":   {swap("arrow/testdata/recording.arrow", rows(7), rows(1<<40))},
		"parquet": {hugeParquet()},
		"text":    nil, // states no number
	}
}

// pass reads a file to its end, and returns the number of samples of a channel.
func pass(b []byte, format, truncated string) (int64, error) {
	r, err := open(ingesttest.Source(b), ingest.Options{Format: format, Truncated: truncated})
	if err != nil {
		return 0, err
	}
	defer r.Close()

	total := int64(0)
	for c := range r.Info().Channels {
		dst := [][]float64{make([]float64, 8192)}
		for at := int64(0); ; {
			n, err := r.Read([]int{c}, at, dst)
			at += int64(n)
			total = max(total, at)
			if errors.Is(err, io.EOF) {
				break
			}

			if err != nil {
				return total, err
			}
		}
	}

	return total, nil
}

// hugeParquet returns a file whose metadata state a thousand row groups of 2^24 rows each. All row groups name one
// page. Zeros are in its place, because a reader refuses the number of rows before it reads the page. The layout is by
// the specifications of Parquet and of Thrift.
func hugeParquet() []byte {
	const rows = 1 << 24
	zigzag := func(v int64) string { return string(binary.AppendUvarint(nil, uint64(v<<1^v>>63))) }
	text := func(s string) string { return string(rune(len(s))) + s }

	// A field begins with the distance from the number of the last field, and a type: 5 and 6 are numbers, 8 is a text, 9
	// is a list, and 12 is a struct.
	chunk := "\x1C" + "\x15" + zigzag(5) + "\x19\x15" + zigzag(8) + "\x19\x18" + text("x") + "\x15" + zigzag(0) +
		"\x16" + zigzag(rows) + "\x16" + zigzag(40) + "\x16" + zigzag(40) + "\x26" + zigzag(4) + "\x00"
	group := "\x19\x1C" + "\x26" + zigzag(4) + chunk + "\x00" + "\x16" + zigzag(40) + "\x16" + zigzag(rows) + "\x00"
	schema := "\x48" + text("schema") + "\x15" + zigzag(1) + "\x00" +
		"\x15" + zigzag(5) + "\x25" + zigzag(0) + "\x18" + text("x") + "\x00"
	footer := "\x15" + zigzag(1) + "\x19\x2C" + schema + "\x16" + zigzag(1000*rows) +
		"\x19\xFC" + string(binary.AppendUvarint(nil, 1000)) + strings.Repeat(group, 1000) + "\x00"
	b := append([]byte("PAR1"), make([]byte, 60)...)
	b = append(b, footer...)

	return append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), "PAR1"...)
}
