package arrow

import (
	"bytes"
	"encoding/binary"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream returns a stream by Apache's library: batches with a force, a count and words of a dictionary.
func stream(t testing.TB, batches, rows int, o ...ipc.Option) []byte {
	t.Helper()
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	md := arrow.NewMetadata([]string{"rate_hz", "rpm"}, []string{"2000", "3000"})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "Fx", Type: arrow.PrimitiveTypes.Float64, Metadata: arrow.NewMetadata([]string{"unit"}, []string{"N"})},
		{Name: "count", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		{Name: "word", Type: words},
	}, &md)

	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(o, ipc.WithSchema(schema))...)
	for b := range batches {
		rb := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		for k := range rows {
			rb.Field(0).(*array.Float64Builder).Append(float64(b*rows+k) / 4)
			rb.Field(1).(*array.Int16Builder).Append(int16(b*rows + k))

			require.NoError(t, rb.Field(2).(*array.BinaryDictionaryBuilder).AppendString("a"))
		}

		rec := rb.NewRecord()
		require.NoError(t, w.Write(rec))

		rec.Release()
		rb.Release()
	}

	require.NoError(t, w.Close())

	return out.Bytes()
}

// A stream has the values that Apache's writer was given.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		name          string
		batches, rows int
		o             []ipc.Option
	}{
		{"one batch", 1, 5, nil},
		{"batches", 7, 3, nil},
		{"lz4", 2, 100, []ipc.Option{ipc.WithLZ4()}},
		{"zstd", 2, 100, []ipc.Option{ipc.WithZstd()}},
	} {
		s := stream(t, c.batches, c.rows, c.o...)
		for _, b := range [][]byte{s, s[:len(s)-8]} { // without the mark of the end, too
			r, err := OpenOutput(ingesttest.Source(b), ingest.Options{})
			require.NoError(t, err, "%s", c.name)

			x := ingesttest.ReadAll(t, r)

			n := c.batches * c.rows
			require.Len(t, x, 2, "%s: channels", c.name)
			require.Len(t, x[0], n, "%s: samples", c.name)
			for k := range n {
				require.Equal(t, float64(k)/4, x[0][k], "%s: force %d", c.name, k)
				require.Equal(t, float64(k), x[1][k], "%s: count %d", c.name, k)
			}

			assert.Equal(t, "N", r.Info().Channels[0].Unit, "%s: unit", c.name)
			assert.Equal(t, 2000.0, r.Info().Channels[0].RateHz, "%s: rate", c.name)
			require.NoError(t, r.Close())
		}
	}
}

// Output that is not a whole stream, or contradicts itself, is refused with an error that names the message.
func TestStreamRefused(t *testing.T) {
	s := stream(t, 2, 4)
	put := func(at int, v uint32) []byte {
		b := bytes.Clone(s)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}

	second := 8 + int(binary.LittleEndian.Uint32(s[4:])) // of the first dictionary
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{[]byte("time,Fx\n0,1\n"), "message 1: expected an Arrow IPC stream: a message that begins with 0xFFFFFFFF"},
		{s[:4], "message 1: expected an Arrow IPC stream, found the end of the output at its byte 4"},
		{s[:len(s)-60], "within the output"},
		{append(bytes.Clone(s), 'x'), "expected the end of the output after the end of the stream, found 1 bytes more"},
		{put(4, 1<<30), "expected metadata in multiples of 8 bytes within the output"},
		{put(4, 7), "expected metadata in multiples of 8 bytes within the output"},
		{s[second:], "message 1: expected a schema and then batches"},
		{append(bytes.Clone(s[:second]), s...), "message 2: expected a schema and then batches"},
	} {
		r, err := OpenOutput(ingesttest.Source(c.b), ingest.Options{})
		ingesttest.WantDataError(t, r, err, c.want)
	}
}

// FuzzStream reads any bytes as a stream: no panic, errors that are data errors, memory
// bounded as for files.
func FuzzStream(f *testing.F) {
	f.Add(stream(f, 1, 5))
	f.Add(stream(f, 3, 2, ipc.WithLZ4()))
	f.Add(stream(f, 1, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) <= 1<<14 {
			readAny(t, b, OpenOutput)
		}
	})
}
