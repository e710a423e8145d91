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
	"mime"
	"net"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"doubletake/docs"
	"doubletake/pipeline/engine"
)

// Bounds of a server.
const (
	mostConnections = 64
	writeLimit      = 20 * time.Second // for one answer
	reportLimit     = 10 * time.Minute // for the report, which may be large
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
	id       string // of this server alone
	http     *http.Server

	mu      sync.Mutex
	w       *Watcher
	next    time.Time // no refresh before
	now     time.Time // of the last one
	parts   []versioned
	version int
}

// versioned is a part of the page, and the number of the change that made it what it is.
type versioned struct {
	part
	version int
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
		id: rand.Text(),
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

// URL is the page's address, on this machine where it listens on all addresses.
func (s *Server) URL() string {
	ip := s.listener.Addr().(*net.TCPAddr).IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}

	return s.at(ip)
}

func (s *Server) at(ip net.IP) string {
	return "http://" + net.JoinHostPort(ip.String(), strconv.Itoa(s.Port())) + "/" + s.key + "/"
}

// Others are the addresses by which other machines reach the page; none where it
// listens on this one alone.
func (s *Server) Others() (urls []string) {
	ip := s.listener.Addr().(*net.TCPAddr).IP
	if ip.IsLoopback() {
		return nil
	}

	if !ip.IsUnspecified() {
		return []string{s.at(ip)}
	}

	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && (n.IP.To4() != nil || ip.To4() == nil) {
			urls = append(urls, s.at(n.IP))
		}
	}

	return urls
}

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
	s.now = now

	parts := s.w.parts(now, "report")
	var list []versioned

	for _, old := range s.parts {
		same := func(p part) bool { return p.id == old.id }
		if !slices.ContainsFunc(parts, same) { // gone; a page that shows it is told
			parts = append(parts, part{id: old.id})
		}
	}

	for _, p := range parts {
		i := slices.IndexFunc(s.parts, func(old versioned) bool { return old.part == p })
		if i < 0 {
			s.version++
			list = append(list, versioned{p, s.version})
		} else {
			list = append(list, s.parts[i])
		}
	}

	s.parts = list

	s.next = time.Now().Add(max(refreshEvery, ShareOfTime*time.Since(now)))
}

// changes sends the parts that changed since the version that a page has. Versions of
// another server, before or after this one, mean nothing.
func (s *Server) changes(w http.ResponseWriter, since string) {
	s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()

	id, number, _ := strings.Cut(since, "-")
	version, err := strconv.Atoi(number)
	if err != nil || id != s.id {
		version = 0
	}

	type changed struct {
		ID   string `json:"id"`
		HTML string `json:"html"`
	}

	list := []changed{}
	for _, p := range s.parts {
		if p.version > version {
			list = append(list, changed{p.id, p.html})
		}
	}

	js, err := json.Marshal(map[string]any{
		"version": fmt.Sprintf("%s-%d", s.id, s.version), "now": s.now.Format(time.DateTime), "parts": list,
	})
	if err != nil {
		panic("watch: " + err.Error()) // strings only
	}

	send(w, "application/json", string(js))
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
	case "parts":
		s.changes(w, r.URL.Query().Get("since"))
	case "report":
		s.report(w, refuse)
	default:
		help, err := docs.Own()

		text := help[strings.TrimPrefix(name, "help/")]
		if err != nil || text == nil || !strings.HasPrefix(name, "help/") {
			refuse(http.StatusNotFound, "no such page")
			return
		}

		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		send(w, mime.TypeByExtension(path.Ext(name)), string(text))
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

	var parts []part
	for _, p := range s.parts {
		parts = append(parts, p.part)
	}

	text := render("page", s.w.document(s.now, parts))
	s.mu.Unlock()
	send(w, "text/html; charset=utf-8", text)
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
