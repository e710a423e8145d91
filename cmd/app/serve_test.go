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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// serveYAML has one training, which takes some seconds with DOUBLETAKE_LONG=1, so that a reader of the page sees it.
var serveYAML = strings.NewReplacer("epochs: 1500", fmt.Sprintf("epochs: %d", longtest.Count(20, 80000)),
	"seeds: 2", "seeds: 1", "        fast: {test: {rpm: {min: 7000}}}\n", "").Replace(interruptYAML)

// startServer starts a serve command and returns the address of the page. The command prints the address, and the
// ssh command for a reader on another machine.
func startServer(t *testing.T, cmd *exec.Cmd) (url string) {
	t.Helper()

	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	printed := bufio.NewReader(pipe)
	url, err = printed.ReadString('\n')
	require.NoError(t, err)

	address := regexp.MustCompile(`^http://127\.0\.0\.1:(\d+)/[0-9a-z]{26,}/\n$`).FindStringSubmatch(url)
	require.NotNil(t, address, "serve prints %q", url)

	tunnel, err := printed.ReadString('\n')
	require.NoError(t, err)

	port := address[1]
	require.Contains(t, tunnel, "ssh -N -L "+port+":127.0.0.1:"+port+" ")

	return strings.TrimSpace(url)
}

// get returns the page of a server.
func get(url string) (string, error) {
	response, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", url, response.Status)
	}

	b, err := io.ReadAll(response.Body)

	return string(b), err
}

// watchRun reads a page every 0.1 s, as a browser does, until it shows a training at work or over is closed. It then
// sends whether it saw one.
func watchRun(t *testing.T, url string, over <-chan struct{}, seen chan<- bool) {
	training := regexp.MustCompile(`<th scope="row">\w+/train/`)
	for {
		select {
		case <-over:
			seen <- false
			return
		case <-time.After(100 * time.Millisecond):
		}

		page, err := get(url)
		assert.NoError(t, err)

		if training.MatchString(page) {
			seen <- true
			return
		}
	}
}

// A run that is watched gives the same bytes as one that is not. With DOUBLETAKE_LONG=1, its reader sees trainings at
// work. The server may be started before there is a work directory. An interrupt ends it with status 0.
func TestServedRun(t *testing.T) {
	alone := project(t, serveYAML)
	watched := project(t, serveYAML)

	server := command(watched, "serve")
	url := startServer(t, server)
	seen := make(chan bool, 1)
	over := make(chan struct{})
	go watchRun(t, url, over, seen)

	quietRun(t, "alone", alone)
	quietRun(t, "watched", watched)
	close(over)

	sawTraining := <-seen
	if longtest.IsLong() {
		assert.True(t, sawTraining, "the page must show a training at work")
	}

	assertSameRuns(t, "watched", alone, watched)

	require.NoError(t, server.Process.Signal(os.Interrupt))
	require.NoError(t, server.Wait())

	t.Run("work directory without its configuration", func(t *testing.T) {
		require.NoError(t, os.Remove(filepath.Join(watched, "pipeline.yaml")))

		server := command(watched, "serve", "runs", "--address", "127.0.0.1:0")
		_, err := get(startServer(t, server))
		require.NoError(t, err)
		assertSameRuns(t, "served", alone, watched)

		require.NoError(t, server.Process.Signal(syscall.SIGTERM))
		require.NoError(t, server.Wait())
	})
}
