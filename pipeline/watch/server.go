package watch

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"doubletake/pipeline/engine"
)

// Bounds of a server.
const (
	writeLimit  = 20 * time.Second // for one answer
	reportLimit = 10 * time.Minute // for the report, which may be large
	idleLimit   = 30 * time.Second
	headerLimit = 8 << 10
)

// shareOfTime is how many times as long as a look at the work directory the pause after
// it is.
const shareOfTime = 50

// refreshEvery is the time between two looks at the work directory at least, while
// anybody watches. A variable for tests.
var refreshEvery = 2 * time.Second

// Server shows a work directory to browsers of this machine. It answers GET alone, under a path that
// only those know who were told, because on a login node others reach its port too.
type Server struct {
	listener net.Listener
	host     string // as it was asked to listen on
	key      string
	http     *http.Server

	mu   sync.Mutex
	w    *Watcher
	next time.Time // no look before
	body []byte    // the page
}

// Listen prepares to show a work directory at an address of this machine alone, like "127.0.0.1:0", where 0
// means any free port.
func Listen(dir, address string) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}

	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}

	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("serve: expected an address of this machine alone, such as 127.0.0.1:8080, found %s: the "+
			"page is not encrypted; from another machine use ssh -N -L", address)
	}

	s := &Server{listener: l, host: host, w: New(dir), key: strings.ToLower(rand.Text())}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: idleLimit, MaxHeaderBytes: headerLimit,
	}

	return s, nil
}

// URL is the page's address.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.key + "/" }

// Port is the port it listens on.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	defer stop()

	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}

	return nil
}

// ServeHTTP answers the few paths there are. None names a file.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(writeLimit))
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'")
	refuse := func(status int, text string) {
		h.Set("Connection", "close")
		_ = rc.SetReadDeadline(time.Now().Add(time.Second)) // of a body that nobody reads
		http.Error(w, text, status)
	}

	defer func() {
		if v := recover(); v != nil {
			e := engine.NewPanicError(v)
			e.Keep(filepath.Join(os.TempDir(), "doubletake-fault.txt"))
			refuse(http.StatusInternalServerError, e.Error())
		}
	}()

	switch {
	case r.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		refuse(http.StatusMethodNotAllowed, "only GET is answered")
		return

	case r.ContentLength != 0:
		refuse(http.StatusBadRequest, "a request here has no body")
		return
	case !s.known(r.Host):
		refuse(http.StatusForbidden, "the request is for another host; use localhost or the address that was printed")
		return
	}

	key, name, slash := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if !slash || subtle.ConstantTimeCompare([]byte(key), []byte(s.key)) != 1 {
		refuse(http.StatusNotFound, "no such page; use the address that pipeline serve printed")
		return
	}

	switch name {
	case "":
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(s.page())
	case "report":
		s.report(w, refuse)
	default:
		refuse(http.StatusNotFound, "no such page")
	}
}

// page is the page as of the last look at the work directory, of which there are few.
func (s *Server) page() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()

	if now := time.Now(); !now.Before(s.next) {
		s.body = s.w.Page(now)
		s.next = time.Now().Add(max(refreshEvery, shareOfTime*time.Since(now)))
	}

	return s.body
}

// known reports whether a Host header is one of this server. A page of another host
// whose name leads here has that host's name in it, never an IP address.
func (s *Server) known(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}

	return strings.EqualFold(name, "localhost") || net.ParseIP(strings.Trim(name, "[]")) != nil ||
		s.host != "" && strings.EqualFold(name, s.host)
}

// report sends the page of results as it is. Its scripts are its own, so it is kept
// from everything else here.
func (s *Server) report(w http.ResponseWriter, refuse func(int, string)) {
	f, err := engine.OpenOwn(filepath.Join(s.w.dir, reportFile))
	if err != nil {
		refuse(http.StatusNotFound, "there is no report yet")
		return
	}
	defer f.Close()

	w.Header().Set("Content-Security-Policy", "sandbox allow-scripts allow-downloads; default-src 'none'; "+
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(reportLimit))
	_, _ = io.Copy(w, f)
}
