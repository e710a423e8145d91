package taskfile

import (
	"testing"

	"doubletake/internal/testfile"
	"doubletake/pipeline/engine"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Values that JSON cannot hold and files that hold none are errors that name the file.
func TestJSON(t *testing.T) {
	j := &engine.Job{Dir: t.TempDir()}
	path := j.Output("a.json")
	type pair struct{ A, B float64 }

	require.NoError(t, WriteJSON(j, "a.json", pair{1, 0.1}))

	var got pair
	require.NoError(t, ReadJSON(path, &got))
	assert.Equal(t, pair{1, 0.1}, got)

	assert.ErrorContains(t, WriteJSON(j, "a.json", func() {}), "a.json")

	testfile.Write(t, path, "{")

	assert.ErrorContains(t, ReadJSON(path, &got), path)
}
