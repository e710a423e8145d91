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

const (
	// writeLimit is how long an answer may take.
	writeLimit = 20 * time.Second
	// reportLimit is how long the answer with the report may take, because the report may be large.
	reportLimit = 10 * time.Minute
	// headerTime is how long the header of a request may take.
	headerTime = 5 * time.Second
	// bodyTime is how long the server waits for the body of a request that it refuses.
	bodyTime = time.Second
	// idleLimit is how long a connection may wait for the next request.
	idleLimit = 30 * time.Second
	// headerBytes is the size that the header of a request may have.
	headerBytes = 8 << 10
)

// restShare is the least time between two looks at the work directory, in times that the last look took. So at most 2 %
// of the time is spent on looks that succeed. A look that fails does not delay the next one.
const restShare = 50

// refreshEvery is the least time between two looks at the work directory while anybody watches. It is a variable for
// tests.
var refreshEvery = 2 * time.Second

// Server shows a work directory to browsers of this machine. It answers GET only. The paths of its pages begin with a
// secret key, because all users of a login node can reach its port.
type Server struct {
	listener net.Listener
	host     string // the host on which the caller asked it to listen
	key      string
	http     *http.Server

	mu       sync.Mutex // for the fields below
	watcher  *Watcher
	nextLook time.Time // earliest time of the next look at the work directory
	body     []byte    // the page as of the last look
}

// Listen returns a server that will show a work directory. The address must be one that only this machine reaches, such
// as "127.0.0.1:0", where port 0 means any free port.
func Listen(dir, address string) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}

	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}

	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		listener.Close()
		return nil, fmt.Errorf("serve: expected an address of this machine alone, such as 127.0.0.1:8080, found %s: the "+
			"page is not encrypted; from another machine use ssh -N -L", address)
	}

	s := &Server{listener: listener, host: host, watcher: New(dir), key: strings.ToLower(rand.Text())}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleLimit, MaxHeaderBytes: headerBytes,
	}

	return s, nil
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.key + "/" }

// Port returns the port on which the server listens.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Serve answers requests until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	defer stop()

	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}

	return nil
}

// ServeHTTP answers a request. Its paths are the page and the report. No path names a file.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit)) // all connections here have deadlines
	setHeader(w.Header())

	defer func() {
		if value := recover(); value != nil {
			fault := engine.NewPanicError(value)
			fault.Keep(filepath.Join(os.TempDir(), "doubletake-fault.txt"))
			refuse(w, http.StatusInternalServerError, fault.Error())
		}
	}()

	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, "only GET is answered")
		return

	case r.ContentLength != 0:
		refuse(w, http.StatusBadRequest, "a request here has no body")
		return
	case !s.known(r.Host):
		refuse(w, http.StatusForbidden, "the request is for another host; use localhost or the address that was printed")
		return
	}

	key, name, slash := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if !slash || subtle.ConstantTimeCompare([]byte(key), []byte(s.key)) != 1 {
		refuse(w, http.StatusNotFound, "no such page; use the address that pipeline serve printed")
		return
	}

	switch name {
	case "":
		body, err := s.page()
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}

		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(body) // the browser may have gone
	case "report":
		s.report(w)
	default:
		refuse(w, http.StatusNotFound, "no such page")
	}
}

// setHeader sets the fields of the header of every answer: nothing is stored, and the page may load nothing and send
// nothing.
func setHeader(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}

// refuse answers with an error and closes the connection. It does not wait long for a body that nobody reads.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	http.Error(w, text, status)
}

// page returns the page. It looks at the work directory if the last look was long enough ago.
func (s *Server) page() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now := time.Now()
	if now.Before(s.nextLook) {
		return s.body, nil
	}

	body, err := s.watcher.Page(now)
	if err != nil {
		return nil, err
	}

	s.body = body
	s.nextLook = time.Now().Add(max(refreshEvery, restShare*time.Since(now)))

	return body, nil
}

// known reports whether a Host header names this server: localhost, an IP address, or the host that the user named.
// Another site can let its own name lead to this machine (DNS rebinding). Its requests have that name in the header and
// are refused.
func (s *Server) known(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}

	isAddress := net.ParseIP(strings.Trim(name, "[]")) != nil
	isNamed := s.host != "" && strings.EqualFold(name, s.host)

	return isAddress || isNamed || strings.EqualFold(name, "localhost")
}

// report sends the report as it is. Because the report has scripts, the answer tells browsers to keep it apart from the
// other pages.
func (s *Server) report(w http.ResponseWriter) {
	file, err := engine.OpenOwn(filepath.Join(s.watcher.dir, reportFile))
	if err != nil {
		refuse(w, http.StatusNotFound, "there is no report yet")
		return
	}
	defer file.Close()

	w.Header().Set("Content-Security-Policy", "sandbox allow-scripts allow-downloads; default-src 'none'; "+
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(reportLimit))
	_, _ = io.Copy(w, file) // the browser may have gone
}
