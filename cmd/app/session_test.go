package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked returns the replies of a session to requests.
func asked(t *testing.T, requests ...request) []reply {
	t.Helper()

	var input, output bytes.Buffer
	for _, request := range requests {
		require.NoError(t, json.NewEncoder(&input).Encode(request))
	}

	require.NoError(t, session{}.answer(context.Background(), &input, &output))

	var replies []reply
	decoder := json.NewDecoder(&output)
	for range requests {
		var r reply
		require.NoError(t, decoder.Decode(&r))
		replies = append(replies, r)
	}

	require.ErrorIs(t, decoder.Decode(&reply{}), io.EOF)

	return replies
}

// A session answers what a shell would see: output, messages and exit status of a command. Files of a request stand for
// arguments, and a faulty command leaves the session as it is. Expected texts are those of the commands.
func TestSession(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "here.csv"), []byte("a,b\n1,2\n"), 0o600))

	replies := asked(t,
		request{Arguments: []string{"glossary", "κ"}},
		request{Arguments: []string{"versoin"}},
		request{Arguments: []string{"inspect", "x.csv"}, Files: map[string]string{"x.csv": "a,b\n1,2\n3,4\n"}},
		request{Arguments: []string{"inspect", "here.csv"}, Dir: dir},
		request{Arguments: []string{"session"}},
		request{Arguments: []string{"version"}, Dir: filepath.Join(dir, "nowhere")},
	)

	assert.Zero(t, replies[0].Status)
	assert.Contains(t, replies[0].Output, "κ")
	assert.Equal(t, 2, replies[1].Status)
	assert.Contains(t, replies[1].Messages, `did you mean "version"?`)
	assert.Zero(t, replies[2].Status, replies[2].Messages)
	assert.Contains(t, replies[2].Output, "a")
	assert.Zero(t, replies[3].Status, replies[3].Messages)
	assert.Contains(t, replies[4].Messages, "this is a session already")
	assert.Contains(t, replies[5].Messages, "no such file")
}

// A line that is not a request ends a session with the status of wrong usage.
func TestSessionRefuses(t *testing.T) {
	err := session{}.answer(context.Background(), strings.NewReader("run pipeline.yaml\n"), io.Discard)
	require.ErrorContains(t, err, "pipeline session reads lines such as")
}
