package app

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// serveYAML has one training, with DOUBLETAKE_LONG=1 of some seconds, long enough for a look
// at it.
var serveYAML = strings.NewReplacer("epochs: 1500", fmt.Sprintf("epochs: %d", longtest.Count(20, 80000)),
	"seeds: 2", "seeds: 1", "        fast: {test: {rpm: {min: 7000}}}\n", "").Replace(interruptYAML)

// serving starts a serve command and returns it with the address it prints.
func serving(t *testing.T, cmd *exec.Cmd) (_ *exec.Cmd, url string) {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	require.NoError(t, err)

	t.Cleanup(func() { _ = cmd.Process.Kill() })
	r := bufio.NewReader(pipe)
	first, _ := r.ReadString('\n')

	second, err := r.ReadString('\n')
	if m := regexp.MustCompile(`^http://127\.0\.0\.1:(\d+)/[0-9a-z]{26,}/\n`).FindStringSubmatch(first); m == nil ||
		!strings.Contains(second, "ssh -N -L "+m[1]+":127.0.0.1:"+m[1]+" ") {
		t.Fatalf("serve prints %q, %q, %v", first, second, err)
	}

	return cmd, strings.TrimSpace(first)
}

// get returns what a server answers.
func get(url string) (string, error) {
	r, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()

	b, err := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, r.Status)
	}

	return string(b), err
}

// A run gives the same bytes with a server and a reader at its side as without; the
// reader sees trainings at work. The server ends at an interrupt with
// status 0.
func TestServedRun(t *testing.T) {
	alone, watched := t.TempDir(), t.TempDir()
	for _, d := range []string{alone, watched} {
		put(t, d, "pipeline.yaml", serveYAML)
	}

	server, url := serving(t, command(watched, "serve")) // before there is a work directory
	seen, over := make(chan bool, 1), make(chan struct{})
	go func() { // a browser
		training := regexp.MustCompile(`<th scope="row">\w+/train/`)
		for {
			select {
			case <-over:
				seen <- false
				return
			case <-time.After(100 * time.Millisecond):
			}

			if text, err := get(url); err != nil {
				t.Error(err)
			} else if training.MatchString(text) {
				seen <- true
				return
			}
		}
	}()

	for _, dir := range []string{alone, watched} {
		quietRun(t, "run", dir)
	}

	close(over)

	if saw := <-seen; longtest.Count(0, 1) == 1 && !saw {
		t.Error("the page showed no training at work")
	}

	sameRuns(t, "watched", alone, watched)

	require.NoError(t, server.Process.Signal(os.Interrupt))

	require.NoError(t, server.Wait())

	// A work directory without its configuration.
	require.NoError(t, os.Remove(filepath.Join(watched, "pipeline.yaml")))

	server, url = serving(t, command(watched, "serve", "runs", "--address", "127.0.0.1:0"))
	_, err := get(url)
	require.NoError(t, err)

	sameRuns(t, "watched", alone, watched)

	_ = server.Process.Signal(syscall.SIGTERM)

	require.NoError(t, server.Wait())
}
