package recording

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
)

// An attribute that says "simulated" is reported unless the experiment is called simulated. The attribute
// simulated: false says the opposite.
func TestWarnSimulated(t *testing.T) {
	says := func(name, value string) ingest.Info {
		return ingest.Info{Path: "a.wav", Attributes: []ingest.Attribute{{Name: name, Value: value}}}
	}

	warnings := WarnSimulated("measured", says("comment", "Simulated rotor"))
	require.Len(t, warnings, 1)
	assert.Equal(t, "simulated", warnings[0].Code)

	assert.Empty(t, WarnSimulated("simulated", says("comment", "Simulated rotor")), "the experiment is called simulated")
	assert.Empty(t, WarnSimulated("measured", says("simulated", "false")), "the attribute denies it")
}
