package watch

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
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
)

// Bounds of a server. A stream holds one part of the page at a time, so that one that
// is read slowly costs no more than others.
const (
	mostConnections = 64
	mostStreams     = 16
	writeLimit      = 20 * time.Second // for one write
	idleLimit       = 30 * time.Second
	headerLimit     = 8 << 10
)

// ShareOfTime is how many times as long as a look at the work directory the pause after
// it is.
const ShareOfTime = 50

// refreshEvery is the time between two looks at the work directory at least, while
// anybody watches. A variable for tests.
var refreshEvery = 2 * time.Second

// Server shows a work directory to browsers. It answers GET alone, under a path that
// only those know who were told, because on a login node others reach its port too.
type Server struct {
	listener net.Listener
	host     string // as it was asked to listen on
	key      string
	http     *http.Server

	mu      sync.Mutex
	w       *Watcher
	next    time.Time // no refresh before
	parts   map[string]*versioned
	order   []string // of the fixed parts
	curves  []string
	version int
	streams int
	now     time.Time
}

// versioned is a part, and the number of the change that made it what it is.
type versioned struct {
	part
	version int
	curve   bool
}

// Listen prepares to show a work directory at an address like "127.0.0.1:0", where 0
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
	s := &Server{
		listener: &limited{Listener: l, free: make(chan struct{}, mostConnections)}, host: host, w: New(dir),
		parts: map[string]*versioned{},
	}
	s.refresh()
	s.key = s.secret()
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: idleLimit, MaxHeaderBytes: headerLimit,
	}
	return s, nil
}

// secret is the page's path: the same for one run, so that a page that is open goes on
// when the server is started again, and known to none who cannot read the work
// directory.
func (s *Server) secret() string {
	if d := s.w.driver(); d != nil && d.head.ID != "" {
		sum := sha256.Sum256([]byte("page of run " + d.head.ID))
		return hex.EncodeToString(sum[:16])
	}
	return strings.ToLower(rand.Text())
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

// refresh looks at the work directory, unless it did a moment ago, and notes which
// parts of the page changed.
func (s *Server) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(s.next) {
		return
	}
	s.w.Refresh(now)
	fixed, curves := s.w.parts(now, "report")
	s.order, s.curves, s.now = s.order[:0], s.curves[:0], now
	seen := map[string]bool{}
	put := func(p part, curve bool) {
		seen[p.id] = true
		old := s.parts[p.id]
		if old == nil || old.html != p.html {
			s.version++
			s.parts[p.id] = &versioned{p, s.version, curve}
		}
	}
	for _, p := range fixed {
		put(p, false)
		s.order = append(s.order, p.id)
	}
	for _, p := range curves {
		put(p, true)
		s.curves = append(s.curves, p.id)
	}
	for id, p := range s.parts {
		if !seen[id] && p.html != "" { // gone; a page that shows it is told
			s.version++
			s.parts[id] = &versioned{part{id: id}, s.version, p.curve}
		}
	}
	took := time.Since(now)
	s.next = time.Now().Add(max(refreshEvery, ShareOfTime*took))
}

// after returns the part that changed first after a version, as it is now.
func (s *Server) after(version int) (p versioned, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.parts {
		if x.version > version && (!ok || x.version < p.version) {
			p, ok = *x, true
		}
	}
	return p, ok
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
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
		"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	refuse := func(status int, text string) {
		h.Set("Connection", "close")
		_ = rc.SetReadDeadline(time.Now().Add(time.Second)) // of a body that nobody reads
		http.Error(w, text, status)
	}
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
		s.page(w)
	case "style.css":
		send(w, "text/css; charset=utf-8", style())
	case "page.js":
		b, _ := files.ReadFile("page.js") // it is embedded
		send(w, "text/javascript; charset=utf-8", string(b))
	case "events":
		s.stream(w, r, refuse)
	case "report":
		s.report(w, refuse)
	default:
		refuse(http.StatusNotFound, "no such page")
	}
}

func send(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, text)
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

func (s *Server) page(w http.ResponseWriter) {
	s.refresh()
	s.mu.Lock()
	get := func(ids []string) (out []part) {
		for _, id := range ids {
			out = append(out, s.parts[id].part)
		}
		return out
	}
	text := render("page", s.w.document(s.now, get(s.order), get(s.curves)))
	s.mu.Unlock()
	send(w, "text/html; charset=utf-8", text)
}

// report sends the page of results as it is. Its scripts are its own, so it is kept
// from everything else here.
func (s *Server) report(w http.ResponseWriter, refuse func(int, string)) {
	f, err := os.Open(filepath.Join(s.w.dir, reportFile))
	if err != nil {
		refuse(http.StatusNotFound, "there is no report yet")
		return
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		refuse(http.StatusNotFound, "there is no report yet")
		return
	}
	w.Header().Set("Content-Security-Policy", "sandbox allow-scripts allow-downloads; default-src 'none'; "+
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	rc := http.NewResponseController(w)
	b := make([]byte, 64<<10)
	for {
		n, err := f.Read(b)
		_ = rc.SetWriteDeadline(time.Now().Add(writeLimit))
		if _, failed := w.Write(b[:n]); failed != nil || err != nil {
			return
		}
	}
}

// stream sends the parts of the page as they change (Server-Sent Events).
func (s *Server) stream(w http.ResponseWriter, r *http.Request, refuse func(int, string)) {
	s.mu.Lock()
	s.streams++
	many := s.streams > mostStreams
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.streams--; s.mu.Unlock() }()
	if many {
		w.Header().Set("Retry-After", "30")
		refuse(http.StatusServiceUnavailable, fmt.Sprintf("%d pages are open already", mostStreams))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	write := func(format string, args ...any) bool {
		_ = rc.SetWriteDeadline(time.Now().Add(writeLimit))
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && rc.Flush() == nil
	}
	tick := time.NewTicker(min(time.Second, refreshEvery))
	defer tick.Stop()
	if !write("retry: 2000\n\n") {
		return
	}
	var shown time.Time
	for version := 0; ; {
		s.refresh()
		for {
			p, ok := s.after(version)
			if !ok {
				break
			}
			version = p.version
			js, err := json.Marshal(map[string]string{"id": p.id, "html": p.html})
			if err != nil || !write("event: part\ndata: %s\n\n", js) {
				return
			}
		}
		s.mu.Lock()
		now := s.now
		s.mu.Unlock()
		if !now.Equal(shown) {
			shown = now
			if !write("event: now\ndata: %s\n\n", now.Format(time.DateTime)) {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// limited is a listener that closes connections beyond a number at once.
type limited struct {
	net.Listener
	free chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &counted{Conn: c, free: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			c.Close()
		}
	}
}

type counted struct {
	net.Conn
	free func()
}

func (c *counted) Close() error {
	c.free()
	return c.Conn.Close()
}
