package background

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Recordings returns the recordings of the background that have a channel. A channel that no recording has is an error,
// and so is a channel in another unit.
func TestRecordings(t *testing.T) {
	bg := &Background{Channels: []backgroundChannel{
		{File: "q1.wav", Name: "m1", Unit: "Pa", Seconds: 3},
		{File: "q2.wav", Name: "m1", Unit: "Pa", Seconds: 5},
		{File: "q1.wav", Name: "m2", Unit: "V"},
	}}

	list, err := bg.Recordings("m1", "Pa", "a.wav")
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, "q2.wav", list[1].File)
	assert.Equal(t, 5.0, list[1].Seconds)

	_, err = bg.Recordings("m2", "Pa", "a.wav")
	assert.ErrorContains(t, err,
		`a.wav: channel m2: expected levels in the unit of the background's recording q1.wav, "V", found "Pa"`)

	_, err = bg.Recordings("m3", "Pa", "a.wav")
	assert.ErrorContains(t, err, "a.wav: channel m3: expected this channel in the background's recordings, found m1, m2")
}
