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

	"doubletake/pipeline"
)

// serveYAML has one training, with DOUBLETAKE_LONG=1 of some seconds, long enough for a look
// at it.
var serveYAML = strings.NewReplacer("epochs: 1500", fmt.Sprintf("epochs: %d", often(20, 300000)),
	"seeds: 2", "seeds: 1", "        fast: {test: {rpm: {min: 7000}}}\n", "").Replace(interruptYAML)

// serving starts a serve command and returns it with the address it prints.
func serving(t *testing.T, cmd *exec.Cmd) (_ *exec.Cmd, url string) {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	if err != nil {
		t.Fatal(err)
	}

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
// reader sees the losses of long trainings at work. The server ends at an interrupt with
// status 0.
func TestServedRun(t *testing.T) {
	alone, watched := t.TempDir(), t.TempDir()
	for _, d := range []string{alone, watched} {
		put(t, d, "pipeline.yaml", serveYAML)
	}

	server, url := serving(t, command(watched, "serve")) // before there is a work directory
	seen, over := make(chan bool, 1), make(chan struct{})
	go func() { // a page asks for what changed
		losses := regexp.MustCompile(`split 2-blades: seed \d: epoch \d+ of 300000, loss [-.0-9]+, held out `)
		for {
			select {
			case <-over:
				seen <- false
				return
			case <-time.After(100 * time.Millisecond):
			}

			if text, err := get(url + "parts"); err != nil {
				t.Error(err)
			} else if losses.MatchString(text) {
				seen <- true
				return
			}
		}
	}()

	for _, dir := range []string{alone, watched} {
		if out, err := command(dir, "run", "--progress", "none").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}

	close(over)

	if saw := <-seen; often(0, 1) == 1 && !saw {
		t.Error("the page showed no held-out losses")
	}

	if err := sameTrees(filepath.Join(alone, "runs"), filepath.Join(watched, "runs")); err != nil {
		t.Error(err)
	}

	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}

	if err := server.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}

	// A work directory without its configuration.
	if err := os.Remove(filepath.Join(watched, "pipeline.yaml")); err != nil {
		t.Fatal(err)
	}

	server, url = serving(t, command(watched, "serve", "runs"))
	if _, err := get(url); err != nil {
		t.Error(err)
	}

	// A server that is killed leaves nothing behind: the next one has the same address and
	// path, and the work directory is as before.
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = server.Wait()
	killed := url
	address := strings.Split(killed, "/")[2]
	if server, url = serving(t, command(watched, "serve", "runs", "--address", address)); url != killed {
		t.Errorf("after a kill the page is at %s, before at %s", url, killed)
	}

	if _, err := get(url); err != nil {
		t.Error(err)
	}

	if err := sameTrees(filepath.Join(alone, "runs"), filepath.Join(watched, "runs")); err != nil {
		t.Error(err)
	}

	_ = server.Process.Signal(syscall.SIGTERM)

	if err := server.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}

	if left, err := filepath.Glob(filepath.Join(watched, "runs", pipeline.ProgressFile)); len(left) > 0 || err != nil {
		t.Logf("the run took long enough to write %v", left)
	}
}
