package main

import (
	"bufio"
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

// serveYAML has one training of some seconds, long enough for a look at it.
var serveYAML = strings.NewReplacer("epochs: 1500", "epochs: 300000", "seeds: 2", "seeds: 1",
	"        fast: {test: {rpm: {min: 7000}}}\n", "").Replace(interruptYAML)

// serving starts pipeline serve and returns the address it prints.
func serving(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd = exec.Command("pipeline", append([]string{"serve"}, args...)...)
	cmd.Dir = dir
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

// A run gives the same bytes with a server and a reader at its side as without; the
// reader sees the losses of trainings at work. The server ends at an interrupt with
// status 0.
func TestServedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for seconds; not with -short")
	}
	alone, watched := t.TempDir(), t.TempDir()
	for _, d := range []string{alone, watched} {
		if err := os.WriteFile(filepath.Join(d, "pipeline.yaml"), []byte(serveYAML), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server, url := serving(t, watched) // before there is a work directory
	r, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	seen := make(chan bool, 1)
	go func() {
		losses := regexp.MustCompile(`split 2-blades: seed \d: epoch \d+ of 300000, loss [-.0-9]+, held out `)
		sc := bufio.NewScanner(r.Body)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			if losses.Match(sc.Bytes()) {
				seen <- true
				return
			}
		}
		seen <- false
	}()
	for _, dir := range []string{alone, watched} {
		if out, err := command(t, dir, "run", "--progress", "none").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	select {
	case ok := <-seen:
		if !ok {
			t.Error("the stream ended")
		}
	case <-time.After(30 * time.Second):
		t.Error("the stream has no held-out losses")
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
	server, url = serving(t, watched, "runs")
	open := func(url string) *http.Response {
		t.Helper()
		r, err := http.Get(url)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r, err)
		}
		t.Cleanup(func() { r.Body.Close() })
		return r
	}
	open(url)
	// A server that is killed while a stream is open leaves nothing behind: the next one
	// has the same address and path, and the work directory is as before.
	stream := open(url + "events")
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	if _, err := io.Copy(io.Discard, stream.Body); err == nil {
		t.Error("the stream of a killed server ended as if it were complete")
	}
	killed := url
	address := strings.Split(killed, "/")[2]
	if server, url = serving(t, watched, "runs", "--address", address); url != killed {
		t.Errorf("after a kill the page is at %s, before at %s", url, killed)
	}
	open(url)
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
