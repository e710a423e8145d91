package watch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quick makes servers look at the work directory often.
func quick(t *testing.T) {
	t.Helper()

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

		require.NoError(t, <-done)

		done <- nil
	}

	t.Cleanup(stop)

	return s, stop
}

// ask sends a request as it is written, which no client would, and returns the answer.
func ask(t *testing.T, s *Server, request string) (status int, header http.Header, body string) {
	t.Helper()

	c, err := net.Dial("tcp", s.listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()

	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))

	_, err = io.WriteString(c, request)
	require.NoError(t, err)

	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	require.NoError(t, err, "%.80q", request)
	defer r.Body.Close()
	b := make([]byte, 1<<20)
	n, err := io.ReadFull(r.Body, b)
	isEnd := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) // the answer is shorter than the memory
	require.True(t, isEnd, "%.80q", request)

	return r.StatusCode, r.Header, string(b[:n])
}

// finished returns the work directory of a finished run, with a secret in it and next to it.
func finished(t *testing.T) string {
	t.Helper()

	s := newStub(t)
	for _, g := range s.gates {
		g <- nil
	}

	s.begin()

	require.NoError(t, <-s.over)

	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("SECRET"), 0o644))
	}

	return s.dir
}

// checkHeader checks the header of an answer: pages may load nothing from elsewhere, and only the report may run
// scripts, in a sandbox.
func checkHeader(t *testing.T, header http.Header, path string, status int, request string) {
	t.Helper()

	policy := header.Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'", request)
	switch {
	case path != "report":
		assert.NotContains(t, policy, "script", request)
	case status == http.StatusOK:
		assert.True(t, strings.HasPrefix(policy, "sandbox "), "%s: %s", request, policy)
	}

	assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), request)
	assert.Empty(t, header.Get("Access-Control-Allow-Origin"), request)
}

// The server answers GET for its two pages alone. The test tries all verbs on all paths, and paths that lead elsewhere.
// No request writes anything.
func TestRoutes(t *testing.T) {
	quick(t)
	dir := finished(t)
	before := tree(t, filepath.Dir(dir))
	s, _ := serve(t, dir, "127.0.0.1:0")
	host := s.listener.Addr().String()
	pages := map[string]string{"": "<title>", "report": "the report"}
	paths := []string{
		"..%2f", "..%2fsecret.txt", "%2e%2e/secret.txt", "../secret.txt", "./", "report/", "report%00", "report.html",
		"Report", ".lock", ".cache/index", "secret.txt", "x/../report", "%72eport",
		"report%2f..%2f..%2fsecret.txt", "..\\secret.txt", "index.html",
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

			request := method + " " + p
			assert.Equal(t, expected, status, request)
			assert.NotContains(t, text, "SECRET", request)
			if status == http.StatusOK {
				assert.Contains(t, text, want, request)
			}

			checkHeader(t, header, p, status, request)
		}
	}

	assert.Equal(t, before, tree(t, filepath.Dir(dir)), "files after the requests")
}

// Requests for another host, with another key, and malformed requests are refused, and no answer has the key. The
// expected statuses follow RFC 9110.
func TestHostile(t *testing.T) {
	quick(t)
	s, _ := serve(t, finished(t), "127.0.0.1:0")
	get := func(path, host string) int {
		status, _, text := ask(t, s, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		assert.NotContains(t, text, s.key, "%s for %s: the answer has the key", path, host)

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
		assert.Equal(t, c.status, get(c.path, c.host), "GET %.60s for %q: status", c.path, c.host)
	}

	c, err := net.Dial("tcp", s.listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", page, strings.Repeat("x", 64<<10))

	// The server answers a header of 64 KiB with status 431, or ends the connection before.
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil {
		assert.Contains(t, line, " 431 ")
	}
}

// A FIFO or a link in place of the report and the journal is neither sent nor waited for.
func TestTampered(t *testing.T) {
	quick(t)

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("a secret"), 0o644))

	for kind, put := range map[string]func(path string) error{
		"FIFO": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"link": func(path string) error { return os.Symlink(secret, path) },
	} {
		dir := t.TempDir()
		for _, name := range []string{reportFile, engine.Journal} {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, put(path))
		}

		s, _ := serve(t, dir, "127.0.0.1:0")
		for page, want := range map[string]int{"report": http.StatusNotFound, "": http.StatusOK} {
			status, _, body := ask(t, s, "GET /"+s.key+"/"+page+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			assert.Equal(t, want, status, "%s: /%s", kind, page)
			assert.NotContains(t, body, "secret", "%s: /%s", kind, page)
		}
	}
}

// A server listens on this machine alone.
func TestAddresses(t *testing.T) {
	_, err := Listen(t.TempDir(), "0.0.0.0:0")
	assert.ErrorContains(t, err, "expected an address of this machine alone, such as 127.0.0.1:8080, found 0.0.0.0:0")
}
