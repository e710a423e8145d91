package flac_test

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/flac"
	"doubletake/ingest/format/wav"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/i24_3ch.flac", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := flac.Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	c := r.Info().Channels[2]
	fmt.Println(r.Info().Encoding, c.Name, c.Unit, c.RateHz, c.Samples)
	// Output: FLAC 24-bit 3 full-scale 48000 700
}

// The expected samples are in the WAV files from which flac and sox encoded the files (testdata/make.py).
func TestFLAC(t *testing.T) {
	for _, c := range []struct{ name, from string }{
		{"i16_2ch", "i16_2ch"},
		{"i24_3ch", "i24_3ch"},
		{"pipe", "i16_2ch"},
		{"sox", "i24_3ch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := wav.Format.Open(ingesttest.Source(ingesttest.Testdata(t, c.from+".wav")), ingest.Options{})
			require.NoError(t, err)

			want := ingesttest.ReadAll(t, w)

			r := ingesttest.Open(t, flac.Format, ingesttest.Testdata(t, c.name+".flac"), ingest.Options{RateHz: 48000})

			require.Len(t, r.Info().Channels, len(want), "channels")
			require.Empty(t, r.Info().Warnings, "warnings")

			for ch, x := range ingesttest.ReadAll(t, r) {
				ingesttest.Equal(t, x, want[ch])
			}

			// Backwards over the frames' ends, channels in another order, one twice.
			n := len(want[0])
			for at := n - 9; at >= 0; at -= 31 {
				dst := [][]float64{make([]float64, 9), make([]float64, 9), make([]float64, 9)}
				got, err := r.Read([]int{1, 0, 1}, int64(at), dst)
				require.NoError(t, err, "from %d on", at)
				require.Equal(t, 9, got, "samples read from %d on", at)

				ingesttest.Equal(t, dst[0], want[1][at:at+9])
				ingesttest.Equal(t, dst[1], want[0][at:at+9])
				ingesttest.Equal(t, dst[2], want[1][at:at+9])
			}

			for at, left := range map[int]int{n - 2: 2, n: 0, n + 5: 0} {
				got, err := r.Read([]int{0}, int64(at), [][]float64{make([]float64, 4)})
				require.ErrorIs(t, err, io.EOF, "from %d on", at)
				assert.Equal(t, left, got, "samples read from %d on", at)
			}

			step, low, high := r.(ingest.Quantized).Quantum()

			ws, wl, wh := w.(ingest.Quantized).Quantum()
			require.Equal(t, ws, step, "quantum %g, %g … %g; of the WAV file %g, %g … %g", step, low, high, ws, wl, wh)
			require.Equal(t, wl, low, "quantum %g, %g … %g; of the WAV file %g, %g … %g", step, low, high, ws, wl, wh)
			assert.Equal(t, wh, high, "quantum %g, %g … %g; of the WAV file %g, %g … %g", step, low, high, ws, wl, wh)
		})
	}
}

// The samples have the MD5 that flac, or make.py by hand, wrote into the header. flac decodes the files of make.py to
// the same MD5. The files contain every way to store samples.
func TestMD5(t *testing.T) {
	names, err := filepath.Glob("testdata/*.flac")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 12, "%v, %v", names, err)

	for _, name := range names {
		b := ingesttest.Testdata(t, filepath.Base(name))
		r, err := flac.Format.Open(ingesttest.Source(b), ingest.Options{})
		require.NoError(t, err, "%s: %v", name, err)

		step, _, _ := r.(ingest.Quantized).Quantum()
		bits := 1 - math.Ilogb(step)

		h, all := md5.New(), ingesttest.ReadAll(t, r)
		for k := range all[0] {
			for _, x := range all {
				h.Write(binary.LittleEndian.AppendUint32(nil, uint32(int32(x[k]/step)))[:(bits+7)/8])
			}
		}

		want := b[bytes.Index(b, []byte("fLaC")):][26:42]
		if filepath.Base(name) != "pipe.flac" { // its writer could not go back to the header
			assert.Equal(t, want, h.Sum(nil), "%s: MD5 of the samples, compared with the header's", name)
		}
	}
}

// Reading a file that is cut short is an error at its end, each time, and the frames before its end are read. With
// truncated: use, these frames are the whole recording.
func TestCutShort(t *testing.T) {
	b := ingesttest.Testdata(t, "i16_2ch.flac")
	b = b[:len(b)*2/3]
	r := ingesttest.Open(t, flac.Format, b, ingest.Options{})

	whole := [][]float64{make([]float64, 1500)}
	for range 2 {
		n, err := r.Read([]int{0}, 0, whole)
		ingesttest.WantDataError(t, n, err, "x: sample 1024: expected a whole frame, found the end of the file")

		n, err = r.Read([]int{0}, 0, [][]float64{whole[0][:1024]})
		require.NoError(t, err, "the frames before the damaged one")
		assert.Equal(t, 1024, n)
	}

	r = ingesttest.Open(t, flac.Format, b, ingest.Options{Truncated: "use"})

	assert.EqualValues(t, 1024, r.Info().Channels[1].Samples)
	assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings))

	ingesttest.ReadAll(t, r)
}

func TestRefused(t *testing.T) {
	b := ingesttest.Testdata(t, "i16_2ch.flac")
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		o      ingest.Options
		want   string
	}{
		{"header", func(b []byte) []byte { return b[:20] }, ingest.Options{}, "header: expected a FLAC file"},
		{
			"no frame", func(b []byte) []byte { return b[:100] },
			ingest.Options{Truncated: "use"},
			"expected samples, found no whole frame",
		},
		{
			"rate", func(b []byte) []byte { return b },
			ingest.Options{RateHz: 44100},
			"expected a rate of 44100 Hz as configured, found 48000 Hz",
		},
		{
			"32 bits", func(b []byte) []byte { b[20] |= 1; b[21] |= 0xF0; return b },
			ingest.Options{},
			"expected 4 to 24 bits per sample, found 32",
		},
		{"no number of samples, damaged", func(b []byte) []byte {
			b[21] &= 0xF0
			copy(b[22:26], []byte{0, 0, 0, 0})
			b[len(b)-5]++
			return b
		}, ingest.Options{}, "sample 1024: "},
	} {
		r, err := flac.Format.Open(ingesttest.Source(c.change(bytes.Clone(b))), c.o)
		t.Log(c.name)
		ingesttest.WantDataError(t, r, err, c.want)
	}

	// Damage in a frame is found by its checksum.
	d := bytes.Clone(b)
	d[len(d)/2]++

	r := ingesttest.Open(t, flac.Format, d, ingest.Options{})

	n, err := r.Read([]int{0}, 0, [][]float64{make([]float64, 1500)})
	ingesttest.WantDataError(t, n, err, "x: sample 512: ", "damaged")
}

// crc returns a checksum of FLAC: the remainder by a polynomial, which is 0x107 for the header of a frame (8 bits) and
// 0x18005 for a whole frame (16 bits).
func crc(b []byte, bits int, polynomial uint32) uint32 {
	v := uint32(0)
	for _, c := range b {
		v ^= uint32(c) << (bits - 8)
		for range 8 {
			if v <<= 1; v>>bits&1 == 1 {
				v ^= polynomial
			}
		}

		v &= 1<<bits - 1
	}

	return v
}

// Values that the format reserves, and frames that differ from the header, are refused even if the checksums are right.
func TestRefusedFrames(t *testing.T) {
	whole := ingesttest.Testdata(t, "order0.flac")
	first := bytes.Index(whole, []byte{0xFF, 0xF8})
	end := first + 2 + bytes.Index(whole[first+2:], []byte{0xFF, 0xF8}) // the second frame
	require.GreaterOrEqual(t, end, first+100, "%v, %v", first, end)
	require.Equal(t, uint32(0), crc(whole[first:end], 16, 0x18005), "%v, %v", first, end)

	head := 5 // bytes of the header of the frame, without its checksum

	const has = ", the header has 1, 16 and 48000 Hz"
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   string
	}{
		{"no frame", func(b []byte) { b[1] = 0 }, "invalid sync-code"},
		{"size", func(b []byte) { b[2] &= 0x0F }, "reserved block size"},
		{"no rate", func(b []byte) { b[2] |= 0x0F }, "invalid sample rate"},
		{"another rate", func(b []byte) { b[2] = b[2]&0xF0 | 9 }, "a frame of 1 channels, 16 bits and 44100 Hz" + has},
		{"two channels", func(b []byte) { b[3] |= 0x10 }, "a frame of 2 channels, 16 bits"},
		{"24 bits", func(b []byte) { b[3] |= 0x0C }, "a frame of 1 channels, 24 bits"},
		{"subframe", func(b []byte) { b[head+1] = 5 << 1 }, "reserved prediction method"},
		{"reserved bit", func(b []byte) { b[head+1] |= 0x80 }, "non-zero padding"},
		{"residuals", func(b []byte) { b[head+2], b[head+1] = 0xC0, 8<<1 }, "reserved residual coding"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(whole[:end])
			frame := b[first:]
			c.change(frame)
			frame[head] = byte(crc(frame[:head], 8, 0x107))
			binary.BigEndian.PutUint16(frame[len(frame)-2:], uint16(crc(frame[:len(frame)-2], 16, 0x18005)))

			r := ingesttest.Open(t, flac.Format, b, ingest.Options{})

			for range 2 { // reading again gives the error again
				n, err := r.Read([]int{0}, 0, [][]float64{make([]float64, 10)})
				ingesttest.WantDataError(t, n, err, "sample 0: ", c.want)
			}
		})
	}
}

// FuzzFLAC reads any bytes. There is no panic, errors are data errors, and reading again after going back gives the
// same samples. It takes the memory of one frame, which may be 65535 samples of eight channels long even if it has few
// bytes: 2 MiB.
func FuzzFLAC(f *testing.F) {
	names, err := filepath.Glob("testdata/*.flac")
	require.NoError(f, err)

	for _, name := range names {
		b := ingesttest.Testdata(f, filepath.Base(name))
		f.Add(b)
		f.Add(b[:len(b)/2])
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}

		explained := func(err error) bool {
			require.False(t, err != nil && !errors.Is(err, io.EOF) && !errors.As(err, new(*fault.Error)), "%T: %v", err, err)
			return err == nil
		}

		ingesttest.Bounded(t, b, 5<<19, 64, func() {
			r, err := flac.Format.Open(ingesttest.Source(b), ingest.Options{})
			if !explained(err) {
				return
			}

			x, again := make([]float64, 1000), make([]float64, 1000)
			n, err := r.Read([]int{0}, 0, [][]float64{x})
			if !explained(err) {
				return
			}

			for _, at := range []int{700, 0} {
				_, err := r.Read([]int{0}, int64(at), [][]float64{again[:max(0, n-at)]})
				require.NoError(t, err)

				if at < n {
					ingesttest.Equal(t, again[:n-at], x[at:n])
				}
			}
		})
	})
}
