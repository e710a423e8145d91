package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"doubletake/pipeline/engine"
)

// quick makes servers look at the work directory often.
func quick(t *testing.T) {
	before := refreshEvery
	refreshEvery = 50 * time.Millisecond
	t.Cleanup(func() { refreshEvery = before })
}

// serve starts a server; stop ends it.
func serve(t *testing.T, dir, address string) (s *Server, stop func()) {
	t.Helper()
	var err error
	until(t, "the address is free", func() bool { s, err = Listen(dir, address); return err == nil })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stop = func() {
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}

		done <- nil
	}

	t.Cleanup(stop)

	return s, stop
}

// ask sends a request as it is written, which no client would, and returns the answer.
func ask(t *testing.T, s *Server, request string) (status int, header http.Header, body string) {
	t.Helper()

	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}

	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}

	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.80q: %v", request, err)
	}
	defer r.Body.Close()
	b := make([]byte, 1<<20)
	n, err := io.ReadFull(r.Body, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Fatalf("%.80q: %v", request, err)
	}

	return r.StatusCode, r.Header, string(b[:n])
}

// finished is a work directory of a finished run, with a secret next to it.
func finished(t *testing.T) string {
	t.Helper()

	s := newStub(t)
	for _, g := range s.gates {
		g <- nil
	}

	s.begin()

	if err := <-s.over; err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} {
		if err := os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("SECRET"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return s.dir
}

// All verbs on all paths, and paths that lead elsewhere: the five pages and documents
// are answered to GET alone, nothing else is, nothing is written.
func TestRoutes(t *testing.T) {
	quick(t)
	dir := finished(t)
	before := tree(t, filepath.Dir(dir))
	s, _ := serve(t, dir, "127.0.0.1:0")
	host := s.listener.Addr().String()
	pages := map[string]string{
		"": "<title>", "style.css": "body{", "page.js": "fetch(", "parts": `"parts":[{`, "report": "the report",
		"help/index.html": "how-to.html", "help/reference/tables.html": "<td>", "help/search.js": "const sections = [{",
	}
	paths := []string{
		"..%2f", "..%2fsecret.txt", "%2e%2e/secret.txt", "../secret.txt", "./", "report/", "report%00", "report.html",
		"Report", ".lock", ".cache/index", "secret.txt", "parts/../report", "%70arts",
		"style.css%2f..%2f..%2fsecret.txt", "..\\secret.txt",
		"help/", "help", "help/../secret.txt", "help/..%2fsecret.txt", "help/secret.txt", "index.html",
	}

	for p := range pages {
		paths = append(paths, p)
	}

	for _, method := range []string{
		"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "MKCOL", "get", "X",
	} {
		for _, p := range paths {
			want, page := pages[p]

			body := ""
			if method == "POST" || method == "PUT" {
				body = "Content-Length: 5\r\n\r\nhello"
			}

			status, header, text := ask(t, s, fmt.Sprintf("%s /%s/%s HTTP/1.1\r\nHost: %s\r\n", method, s.key, p, host)+
				"Connection: close\r\n"+body+"\r\n")

			expected := http.StatusMethodNotAllowed
			switch {
			case method == "GET" && page:
				expected = http.StatusOK
			case method == "GET":
				expected = http.StatusNotFound
			}

			if status != expected || strings.Contains(text, "SECRET") || status == 200 && !strings.Contains(text, want) {
				t.Errorf("%s %q: status %d, expected %d: %.100q", method, p, status, expected, text)
			}

			csp := header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || p != "report" && strings.Contains(csp, "unsafe") ||
				p == "report" && status == 200 && !strings.HasPrefix(csp, "sandbox ") ||
				header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %q: headers %v", method, p, header)
			}
		}
	}

	if after := tree(t, filepath.Dir(dir)); after != before {
		t.Error("requests changed the work directory")
	}
}

// Requests for other hosts, of other keys, and malformed ones.
func TestHostile(t *testing.T) {
	quick(t)
	s, _ := serve(t, finished(t), "127.0.0.1:0")
	get := func(path, host string) int {
		status, _, text := ask(t, s, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		if status != 200 && strings.Contains(text, s.key) {
			t.Errorf("%s, %s: the key leaks", path, host)
		}

		return status
	}

	page := "/" + s.key + "/"
	for _, c := range []struct {
		path, host string
		status     int
	}{
		{page, "127.0.0.1", 200},
		{page, "localhost:8080", 200}, // ssh -L 8080
		{page, "LOCALHOST", 200},
		{page, "[::1]:9", 200},
		{page, "evil.example", 403},
		{page, "127.0.0.1.evil.example", 403},
		{page, "localhost.evil.example:80", 403},
		{page, "evil.example:127", 403},
		{page, "", 403},
		{page, "a b", 400},
		{"http://evil.example" + page, "localhost", 403}, // the host of the line counts
		{"/", "localhost", 404},
		{"/" + strings.Repeat("0", len(s.key)) + "/", "localhost", 404},
		{"/" + s.key, "localhost", 404},
		{"//" + s.key + "/", "localhost", 404},
		{"/" + s.key[:10] + "/", "localhost", 404},
		{"/x/.." + page, "localhost", 404},
		{"/%2f" + page, "localhost", 404},
		{"/" + strings.Repeat("a", 9000), "localhost", 404},
	} {
		if got := get(c.path, c.host); got != c.status {
			t.Errorf("GET %.60s for %q: status %d, expected %d", c.path, c.host, got, c.status)
		}
	}

	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", page, strings.Repeat("x", 64<<10))

	// The answer, or the end of the connection, whichever is first.
	if l, err := bufio.NewReader(c).ReadString('\n'); err == nil && !strings.Contains(l, " 431 ") {
		t.Errorf("a header of 64 KiB: %q", l)
	}
}

// Many connections: those beyond the limit are closed, memory and goroutines stay
// bounded, and when they are gone the page is there. DOUBLETAKE_LONG=1 opens 10,000.
func TestConnections(t *testing.T) {
	connections := 1000
	if os.Getenv("DOUBLETAKE_LONG") != "" {
		connections = 10000
	}

	quick(t)
	s, _ := serve(t, finished(t), "127.0.0.1:0")
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}

	before, routines := memory(), runtime.NumGoroutine()
	var open []net.Conn

	closed := 0
	for range connections {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}

		// Half a request: the server waits for the rest.
		_, _ = io.WriteString(c, "GET /"+s.key+"/parts HTTP/1.1\r\nHost: localhost\r\nX: ")
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))

		var e net.Error
		if _, err := c.Read(make([]byte, 1)); errors.As(err, &e) && e.Timeout() {
			if open = append(open, c); len(open) > 500 {
				open[0].Close()
				open = open[1:]
			}

			continue
		}

		closed++
		c.Close()
	}

	now, more := memory(), runtime.NumGoroutine()
	t.Logf("%d of %d closed at once; %d KiB and %d goroutines more", closed, connections, (int64(now)-int64(before))>>10,
		more-routines)

	if closed < connections*9/10 || more > routines+3*mostConnections || now > before+16<<20 {
		t.Error("connections are not limited")
	}

	for _, c := range open {
		c.Close()
	}

	until(t, "the page is there again", func() bool {
		r, err := http.Get(s.URL())
		if err != nil {
			return false
		}
		defer r.Body.Close()

		return r.StatusCode == 200
	})
}

// A page gets what changed since what it has, and all from a server that it did not ask
// before.
func TestChanges(t *testing.T) {
	quick(t)
	p := newStub(t)
	s, _ := serve(t, p.dir, "127.0.0.1:0")
	p.begin()
	p.gates["e/ingest/a.wav"] <- nil
	p.gates["e/ingest/b.wav"] <- nil

	type changes struct {
		Version string
		Parts   []struct{ ID, HTML string }
	}

	since := func(version string) (c changes) {
		t.Helper()

		r, err := http.Get(s.URL() + "parts?since=" + version)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()

		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			t.Fatal(err)
		}

		return c
	}

	var c changes
	for i := 1; i <= 3; i++ {
		p.report("e/train/low/seed-0", float64(i), 1/float64(i), 2/float64(i))
		want := fmt.Sprintf("epoch %d of %d", i, stubEpochs)
		until(t, "the page gets "+want, func() bool {
			c = since(c.Version)
			return strings.Contains(fmt.Sprint(c.Parts), want)
		})
	}

	if all := since("0123-9999"); len(all.Parts) < 6 {
		t.Errorf("%d parts for the page of another server", len(all.Parts))
	}

	until(t, "nothing changes", func() bool { // but times
		c = since(c.Version)
		return len(c.Parts) < 6
	})
}

// Files that another put into the work directory are neither sent nor waited for: a FIFO
// and a link in place of the page of results, the journal, metrics and histories.
func TestTampered(t *testing.T) {
	quick(t)

	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret"), 0o644); err != nil {
		t.Fatal(err)
	}

	for what, put := range map[string]func(path string) error{
		"FIFO": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"link": func(path string) error { return os.Symlink(secret, path) },
	} {
		dir := t.TempDir()
		for _, name := range []string{
			reportFile, engine.JournalDir + "/run.jsonl", "a/report/metrics.json", "a/splits/b/seed-1/history.arrow",
		} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), put(path)); err != nil {
				t.Fatal(err)
			}
		}

		s, _ := serve(t, dir, "127.0.0.1:0")
		for _, page := range []string{"report", "", "parts"} {
			status, _, body := ask(t, s, "GET /"+s.key+"/"+page+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if (status == http.StatusOK) != (page != "report") || strings.Contains(body, "secret") {
				t.Errorf("%s: /%s: %d: %.200s", what, page, status, body)
			}
		}
	}
}

// The addresses of a server that listens on all work, from this machine and by its own
// address; one that listens on this machine alone has none for others.
func TestAddresses(t *testing.T) {
	s, _ := serve(t, t.TempDir(), "0.0.0.0:0")
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Error(s.URL())
	}

	for _, u := range append(s.Others(), s.URL()) {
		r, err := http.Get(u)
		if err != nil {
			t.Fatal(err)
		}

		r.Body.Close()

		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", u, r.Status)
		}
	}

	if s, _ := serve(t, t.TempDir(), "127.0.0.1:0"); len(s.Others()) > 0 {
		t.Errorf("on this machine alone: %v", s.Others())
	}
}
