package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files of a report are the ones that its methods return, and each figure has a drawing and numbers.
func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	e := Experiment{Name: "wing"}
	require.NoError(t, e.WriteFiles(func(name string) string { return filepath.Join(dir, name) }))

	metrics, err := e.MetricsJSON()
	require.NoError(t, err)
	for name, want := range map[string][]byte{
		"metrics.json": metrics, "tables.md": Markdown(e), "tables.tex": LaTeX(e),
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s", name)
	}

	figures := filepath.Join(dir, "figures")
	require.NoError(t, WriteFigures(figures, []FigureFile{{File: "parity", SVG: []byte("<svg/>"), CSV: []byte("x,y\n")}}))
	for name, want := range map[string]string{"parity.svg": "<svg/>", "parity.csv": "x,y\n"} {
		got, err := os.ReadFile(filepath.Join(figures, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "%s", name)
	}
}
