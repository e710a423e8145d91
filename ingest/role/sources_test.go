package role_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/role"
)

// Of three attributes, one differs and is a condition, one differs and is a text, and one is the same everywhere.
func TestReadAttributes(t *testing.T) {
	header := func(angle, wing string) ingest.Info {
		return ingest.Info{Attributes: []ingest.Attribute{
			{Name: "/run/AoA", Value: angle}, {Name: "wing", Value: wing}, {Name: "rig", Value: "east"},
		}}
	}

	columns := role.ReadAttributes([]ingest.Info{header("5", "A"), header("0", "B")})
	require.Equal(t, []string{"alpha_deg", "wing"}, role.NamesOf(columns))
	assert.Equal(t, []float64{5, 0}, columns[0].Values)
	assert.Equal(t, []string{"A", "B"}, columns[1].Texts)
}

// A value counts if the file next to every recording states it.
func TestReadSidecars(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.json": `{"tunnel": {"angle of attack": 5}, "note": "calm"}`, "b.json": `{"tunnel": {"angle of attack": 0}}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}

	columns := role.ReadSidecars(dir, []string{"a.wav", "b.wav"}, ".json")
	require.Equal(t, []string{"alpha_deg"}, role.NamesOf(columns))
	assert.Equal(t, "tunnel.angle of attack", columns[0].Head)
	assert.Equal(t, []float64{5, 0}, columns[0].Values)
}
