package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline/locate"
	"doubletake/report/answer/predict"
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

// Answers of a session are byte for byte those of the command alone, also when it answers again from what it keeps, and
// after a result changed on disk: another network in a folder, and a second split that makes a name ambiguous. Expected
// answers come from the command alone.
func TestSessionAnswersAsCommand(t *testing.T) {
	whole, _ := undisturbedRun(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
	t.Chdir(dir)

	split := filepath.Join("copied", "splits", "2-blades")
	require.NoError(t, os.CopyFS(split, os.DirFS(filepath.Join("runs", "rotor", "splits", "2-blades"))))
	require.NoError(t, os.WriteFile("c.csv", []byte("blades,rpm,theta_deg\n3,5000,0\n4,8000,30\n2,4000,-30\n"), 0o600))

	lines := []string{
		"predict rotor/2-blades --conditions c.csv --json --only calibrated",
		"predict copied --conditions c.csv --csv --extrapolate",
		"predict copied --at blades=3,rpm=5000,theta_deg=0 --level 0.8",
		"inspect rotor --json",
		"inspect copied --json",
		"suggest rotor --count 2 --json",
	}
	s := session{}
	same := func(when string) {
		for _, line := range lines {
			words := strings.Fields(line)
			var stdout, stderr bytes.Buffer
			status := run(words, &stdout, &stderr)
			messages := strings.TrimPrefix(stderr.String(), "pipeline: ") // a session names no program
			for _, call := range []string{"first", "second"} {
				got := s.perform(context.WithValue(context.Background(), sessionKey{}, s), request{Arguments: words})
				assert.Equal(t, reply{status, stdout.String(), messages}, got, "%s, %s call: %s", when, call, line)
			}
		}
	}

	same("as it was made")

	require.NoError(t, os.RemoveAll(filepath.Join(split, "seed-1")))
	same("without a network")

	require.NoError(t, os.CopyFS(filepath.Join("copied", "splits", "another"), os.DirFS(split)))
	same("with a second split")
}

// A session confuses no two places, also if they are one path after cleaning: an experiment and a path, a path from the
// root and a path from the working directory, and paths with "..". Expected answers come from the command alone.
func TestSessionPlaces(t *testing.T) {
	whole, _ := undisturbedRun(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
	t.Chdir(dir)

	split := os.DirFS(filepath.Join("runs", "rotor", "splits", "2-blades"))
	require.NoError(t, os.CopyFS("copied", split))
	require.NoError(t, os.CopyFS(filepath.Join("a", "x"), split))
	require.NoError(t, os.Mkdir(filepath.Join("a", "b"), 0o700))
	inner := filepath.Join(dir, "a", "b")
	outer := filepath.Join(dir, "a")

	pairs := map[string][2]modelsName{
		"experiment, then path":     {{dir, "rotor/2-blades"}, {dir, "./rotor/2-blades"}},
		"relative, then absolute":   {{dir, "copied"}, {dir, "/copied"}},
		"one folder up":             {{inner, "../x"}, {outer, "../b/x"}},
		"below, then beside":        {{dir, "a/x"}, {outer, "a/x"}},
		"in another working folder": {{outer, "x"}, {inner, "x"}},
	}
	for name, pair := range pairs {
		s := session{}
		for i, place := range pair {
			for _, call := range []string{"first", "second", "third"} {
				require.NoError(t, os.Chdir(place.dir))
				words := []string{"predict", place.name, "--at", "blades=3,rpm=5000,theta_deg=0", "--csv"}
				var stdout, stderr bytes.Buffer
				status := run(words, &stdout, &stderr)
				assert.Equal(t, i == 0, status == 0, "%s: the first place has models, the second has none", name)

				messages := strings.TrimPrefix(stderr.String(), "pipeline: ") // a session names no program
				ctx := context.WithValue(context.Background(), sessionKey{}, s)
				got := s.perform(ctx, request{Arguments: words, Dir: place.dir})
				assert.Equal(t, reply{status, stdout.String(), messages}, got, "%s, place %d, %s call", name, i+1, call)
			}
		}
	}
}

// A session keeps models from the second reading on. It does not keep models if a file changes after they were read,
// because the state of the file is taken before the reading. The expected numbers of readings are counted by hand.
func TestSessionKeeps(t *testing.T) {
	whole, _ := undisturbedRun(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(whole, "runs", "rotor"))))
	t.Chdir(dir)

	readings := 0
	const changed = 2 // reading after which a file changes
	read := func(name string) (*predict.Models, error) {
		models, err := locate.Models(name)
		readings++
		if err == nil && readings == changed {
			err = os.Chtimes(models.Paths[0], time.Time{}, time.Unix(1, 0))
		}

		return models, err
	}

	s := session{}
	for i, want := range []int{1, changed, 3, 3, 3} {
		_, err := s.recall(modelsName{dir, "splits/2-blades"}, read)
		require.NoError(t, err)
		assert.Equal(t, want, readings, "after call %d", i+1)
	}
}

// A cancelled context ends a session that waits for a request.
func TestSessionCancelled(t *testing.T) {
	requests, writer := io.Pipe() // never has a line
	defer writer.Close()

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, session{}.answer(ctx, requests, io.Discard), context.Canceled)
}

// BenchmarkSession asks for ten conditions of the experiment drone of the main job, as the package doubletake of Python
// does. It reports the median and the shortest call after the first.
func BenchmarkSession(b *testing.B) {
	configuration, err := os.ReadFile(filepath.Join(repository, "pipeline.yaml"))
	require.NoError(b, err)

	b.Chdir(b.TempDir())
	require.NoError(b, os.WriteFile("pipeline.yaml", configuration, 0o600))

	words := []string{"run", "--experiment", "drone", "--to", "train", "--progress", "none"}
	require.Zero(b, run(words, io.Discard, os.Stderr))

	table := "blades,rpm,theta_deg\n"
	for i := range 10 {
		table += fmt.Sprintf("%d,%d,%d\n", 3+i%2, 3000+300*i, -40+8*i)
	}

	s := session{}
	ctx := context.WithValue(context.Background(), sessionKey{}, s)
	ask := request{
		Arguments: strings.Fields("predict drone/3-blades --json --only calibrated --conditions c.csv"),
		Files:     map[string]string{"c.csv": table},
	}
	require.Zero(b, s.perform(ctx, ask).Status)

	var calls []time.Duration
	for b.Loop() {
		began := time.Now()
		require.Zero(b, s.perform(ctx, ask).Status)
		calls = append(calls, time.Since(began))
	}

	slices.Sort(calls)
	b.ReportMetric(float64(calls[len(calls)/2].Microseconds())/1e3, "ms/median")
	b.ReportMetric(float64(calls[0].Microseconds())/1e3, "ms/shortest")
}

// Two files of a request may have one base name in different folders. Expected: the rows of each.
func TestSessionFilesOfOneName(t *testing.T) {
	files := map[string]string{"a/x.csv": "a,b\n1,2\n3,4\n", "b/x.csv": "c,d\n1,2\n3,4\n5,6\n"}
	replies := asked(t,
		request{Arguments: []string{"inspect", "a/x.csv", "--json"}, Files: files},
		request{Arguments: []string{"inspect", "b/x.csv", "--json"}, Files: files},
	)

	assert.Zero(t, replies[0].Status, replies[0].Messages)
	assert.Contains(t, replies[0].Output, `"a"`)
	assert.Zero(t, replies[1].Status, replies[1].Messages)
	assert.Contains(t, replies[1].Output, `"c"`)
}

// The names of files are replaced where they are arguments or values of flags, and nowhere else. The expected words are
// written by hand.
func TestSessionFileWords(t *testing.T) {
	words := map[string]string{
		"x.csv": "FILE", "--conditions=x.csv": "--conditions=FILE", "-c=x.csv": "-c=FILE", "a/x.csv": "a/x.csv",
		"x.csv.gz": "x.csv.gz", "note=x.csv": "note=x.csv", "--title=see x.csv": "--title=see x.csv",
	}
	for word, want := range words {
		dir := t.TempDir()
		r := request{Arguments: []string{"predict", word}, Files: map[string]string{"x.csv": "a\n1\n"}}
		got, err := r.writeFiles(dir)
		require.NoError(t, err)

		want = strings.ReplaceAll(want, "FILE", filepath.Join(dir, "x.csv"))
		assert.Equal(t, []string{"predict", want}, got, word)
	}
}

// A line that is not a request ends a session with the status of wrong usage.
func TestSessionRefuses(t *testing.T) {
	err := session{}.answer(context.Background(), strings.NewReader("run pipeline.yaml\n"), io.Discard)
	require.ErrorContains(t, err, "pipeline session reads lines such as")
}
