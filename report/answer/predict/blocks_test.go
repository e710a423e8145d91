package predict

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/report"
)

// Conditions that are predicted in blocks have the rows that they have together.
func TestWriteCSV(t *testing.T) {
	m := opened(t, split(t))
	x := []float64{1, 3, 2, 2, 9, 3, 1, 2, 4, 4}
	o := Options{Extrapolate: true}
	a, err := m.Answer(context.Background(), x, o)
	require.NoError(t, err)

	var want bytes.Buffer
	require.NoError(t, report.CSV(&want, a.CSV()))
	require.Len(t, bytes.Split(bytes.TrimSpace(want.Bytes()), []byte("\n")), 6)

	for _, together := range []int{1, 2, 5, 100} {
		var got bytes.Buffer
		require.NoError(t, m.writeRows(context.Background(), &got, x, o, together))
		require.Equal(t, want.String(), got.String())
	}
}

// A document that is written in blocks has the bytes of the whole document.
func TestWriteJSON(t *testing.T) {
	m := opened(t, split(t))
	x := []float64{1, 3, 2, 2, 9, 3, 1, 2, 4, 4}
	o := Options{Extrapolate: true}
	a, err := m.Answer(context.Background(), x, o)
	require.NoError(t, err)

	want, err := json.MarshalIndent(a.JSON(), "", "  ")
	require.NoError(t, err)

	for _, together := range []int{1, 2, 5, 100} {
		var got bytes.Buffer
		require.NoError(t, m.writeDocument(context.Background(), &got, x, o, together))
		require.Equal(t, string(want)+"\n", got.String())
	}
}
