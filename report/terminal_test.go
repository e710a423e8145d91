package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

func TestTerminalWriteError(t *testing.T) {
	err := Terminal(failing{}, rotor(), 100, false)
	require.ErrorContains(t, err, "write tables: ")
}

func TestLongSkipList(t *testing.T) {
	e := rotor()
	for range 40 {
		e.Skipped = append(e.Skipped, "x.wav: bad")
	}

	var b bytes.Buffer
	require.NoError(t, Terminal(&b, e, 100, false))

	assert.Equal(t, 10, strings.Count(b.String(), "skipped: x.wav: bad"))
	assert.Contains(t, b.String(), "… and 30 more")

	raw, _ := e.MetricsJSON()
	assert.Equal(t, 40, strings.Count(string(raw), "x.wav: bad"), "metrics.json lists")
}
