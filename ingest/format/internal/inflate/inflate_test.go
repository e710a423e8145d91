package inflate

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// words returns text that repeats some of its parts.
func words() []byte {
	r := rand.New(rand.NewPCG(1, 2))

	var b []byte
	for len(b) < 190_000 {
		b = fmt.Appendf(b, "%d,%.3f\n", len(b), r.NormFloat64())
		if r.IntN(10) == 0 && len(b) > 40_000 {
			at := len(b) - 1 - r.IntN(33_000)
			b = append(b, b[at:min(at+r.IntN(300), len(b))]...)
		}
	}

	return b
}

func compress(t testing.TB, level int, x []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, level)
	require.NoError(t, err)

	_, err = w.Write(x)
	err = errors.Join(err, w.Close())
	require.NoError(t, err)

	return z.Bytes()
}

// One Reader decompresses streams of compress/flate from sources that give many bytes at a time, one byte at a time,
// and io.EOF together with the last bytes. A stream that is cut anywhere gives a prefix and io.ErrUnexpectedEOF.
func TestRoundTrip(t *testing.T) {
	x := words()

	r := NewReader(nil)
	for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 9} {
		z := compress(t, level, x)
		for i, src := range []io.Reader{
			bytes.NewReader(z), iotest.OneByteReader(bytes.NewReader(z)), iotest.DataErrReader(bytes.NewReader(z)),
			bytes.NewReader(append(z[:len(z):len(z)], "something else that follows"...)),
		} {
			r.Reset(src)

			got, err := io.ReadAll(r)
			require.NoError(t, err, "level %d, source %d", level, i)
			require.True(t, bytes.Equal(x, got), "level %d, source %d: the bytes that were compressed", level, i)
		}

		z = compress(t, level, x[:3000])
		for cut := range z {
			r.Reset(bytes.NewReader(z[:cut]))

			got, err := io.ReadAll(r)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "level %d, cut at %d of %d", level, cut, len(z))
			require.True(t, bytes.HasPrefix(x, got), "level %d, cut at %d of %d: a prefix", level, cut, len(z))
		}
	}
}

// A wrong header or checksum of zlib is an error.
func TestZlib(t *testing.T) {
	x := words()
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, err := w.Write(x)
	require.NoError(t, err)
	require.NoError(t, w.Close())

	b := z.Bytes()
	got, err := io.ReadAll(NewZlibReader(bytes.NewReader(b)))
	require.NoError(t, err)
	require.True(t, bytes.Equal(x, got), "the bytes that were compressed")

	for _, c := range []struct {
		b    []byte
		want string
	}{
		{append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1), "zlib: invalid checksum"},
		{b[:len(b)-4], "unexpected EOF"},
		{nil, "unexpected EOF"},
		{append([]byte{0x78, 0x9d}, b[2:]...), "zlib: invalid header"},
		{append([]byte{0x78, 0xbb}, b[2:]...), "zlib: invalid dictionary"},
	} {
		_, err := io.ReadAll(NewZlibReader(bytes.NewReader(c.b)))
		assert.ErrorContains(t, err, c.want)
	}
}

// FuzzInflate decompresses any bytes in at most 1 MiB. It gives the same bytes as compress/flate, or an error if
// compress/flate gives one.
func FuzzInflate(f *testing.F) {
	for _, level := range []int{flate.HuffmanOnly, 0, 1, 9} {
		f.Add(compress(f, level, words()[:1000]))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 20
		if len(b) >= 1<<16 {
			return
		}

		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), most))
		got, err := io.ReadAll(io.LimitReader(NewReader(bytes.NewReader(b)), most))
		k := min(len(got), len(want))
		require.True(t, bytes.Equal(want[:k], got[:k]), "the first %d bytes", k)
		if len(want) < most {
			require.Equal(t, wantErr == nil, err == nil, "success; compress/flate returns %v, package inflate %v", wantErr, err)
		}

		if wantErr == nil {
			require.NoError(t, err)
			require.Len(t, got, len(want), "all bytes")
		}

		ingesttest.Bounded(t, nil, 1<<20, 0, func() {
			_, _ = io.Copy(io.Discard, io.LimitReader(NewReader(bytes.NewReader(b)), most))
		})
	})
}
