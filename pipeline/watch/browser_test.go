package watch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a window that remembers what went wrong in it.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// openBrowser starts a Chromium, or skips the test by name;
// DOUBLETAKE_REQUIRE_CHROMIUM=1 makes its absence a failure.
func openBrowser(t *testing.T) *browser {
	t.Helper()

	if os.Getenv("DOUBLETAKE_LONG") == "" {
		t.Skip("opens a browser; DOUBLETAKE_LONG=1 runs it")
	}

	path := ""
	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(n); err == nil && path == "" {
			path = p
		}
	}

	switch {
	case path != "":
	case os.Getenv("DOUBLETAKE_REQUIRE_CHROMIUM") == "1":
		t.Fatal("no Chromium is installed (Debian: apt-get install chromium)")
	default:
		t.Skip("no Chromium is installed (Debian: apt-get install chromium)")
	}

	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()

		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded:
			b.problems = append(b.problems, "log: "+e.Entry.Text)
		}
	})

	b.do(network.Enable(), cdplog.Enable(), runtime.Enable())

	return b
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) text(js string) string {
	b.t.Helper()
	var s string
	b.do(chromedp.Evaluate(js, &s))
	return s
}

// shows waits until the page holds a text.
func (b *browser) shows(want string) {
	b.t.Helper()

	end := time.Now().Add(60 * time.Second)
	for !strings.Contains(b.text("document.body.innerText"), want) {
		if time.Now().After(end) {
			b.t.Fatalf("the page does not show %q:\n%s", want, b.text("document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// clean fails if the page wrote to the console or broke its policy.
func (b *browser) clean(but string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, p := range b.problems {
		if but == "" || !strings.Contains(p, but) {
			b.t.Error(p)
		}
	}

	b.problems = nil
}

// shot keeps a picture below $DOUBLETAKE_SCREENSHOTS, for people to look at.
func (b *browser) shot(name string) {
	b.t.Helper()

	dir := os.Getenv("DOUBLETAKE_SCREENSHOTS")
	if dir == "" {
		return
	}

	var png []byte
	b.do(chromedp.FullScreenshot(&png, 100))

	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// TestLive watches a run of fake tasks in two browsers, one of which reads 3 KB a
// second: at work, with a failure, through a restart of the server during a training,
// finished. What is expected is what the test has the tasks do.
func TestLive(t *testing.T) {
	quick(t)
	a, slow := openBrowser(t), openBrowser(t)
	p := newStub(t)
	p.begin()
	until(t, "there is a journal", func() bool { w := New(p.dir); w.Refresh(time.Now()); return w.driver() != nil })
	s, stop := serve(t, p.dir, "127.0.0.1:0")
	a.do(chromedp.EmulateViewport(1300, 900), chromedp.Navigate(s.URL()))
	a.shows("e/ingest/a.wav")
	a.shows("Live, ")
	a.shows("At work: 3")
	slow.do(network.EmulateNetworkConditions(false, 50, 3000, 3000), chromedp.Navigate(s.URL()))

	p.gates["e/ingest/c.wav"] <- p.failing()
	a.shows("Failed: 1")
	a.shows("the microphone fell <i>down</i>")
	a.shows("<script>last()</script> line")
	p.gates["e/ingest/a.wav"] <- nil
	p.gates["e/ingest/b.wav"] <- nil
	a.shows("e/train/low/seed-1")

	for i := 1; i <= 20; i++ {
		p.report("e/train/low/seed-1", float64(i), 3/float64(i), 4)
		p.report("e/train/low/seed-0", float64(i), 2/float64(i), 5)
	}

	a.shows("seed 0: epoch 20 of 40, loss 0.1, held out 5; seed 1: epoch 20 of 40, loss 0.15, held out 4")

	if got := a.text(`String(document.querySelectorAll("#curves svg [data-series='seed 1']").length)`); got != "2" {
		t.Errorf("%s lines of seed 1, expected one of training and one held out", got)
	}

	a.shot("live-running")

	// The server ends during the training and is started again at its address.
	address := s.listener.Addr().String()
	stop()
	a.shows("No connection")
	p.report("e/train/low/seed-1", 21, 0.125, 4)

	s2, _ := serve(t, p.dir, address)
	if s2.URL() != s.URL() {
		t.Errorf("the address changed: %s, before %s", s2.URL(), s.URL())
	}

	a.shows("seed 1: epoch 21 of 40, loss 0.125, held out 4")
	a.shows("Live, ")
	a.clean("ERR_") // of the connection that broke

	for _, id := range []string{"e/train/low/seed-0", "e/train/low/seed-1", "e/report", "report"} {
		p.gates[id] <- nil
	}

	a.shows("Ended with failures")
	a.shows("blades = 2 held out: holds. <b>Error</b> 2.5 dB.")
	a.shows("seed 0: epoch 40 of 40, loss 0.25, held out 5")
	a.shot("live-finished")

	for _, width := range []int64{360, 768, 1600} {
		a.do(chromedp.EmulateViewport(width, 900))

		over := a.text(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`)
		if over != "0" {
			t.Errorf("at %d px the page is %s px too wide", width, over)
		}
	}

	slow.shows("Ended with failures")
	a.do(chromedp.Click("#results a", chromedp.ByQuery), chromedp.WaitVisible("#r", chromedp.ByQuery))
	a.shows("the report")
	a.clean("")

	// The same as a file.
	w := New(p.dir)
	w.Refresh(time.Now())

	file := filepath.Join(t.TempDir(), "progress.html")
	if err := os.WriteFile(file, w.Page(time.Now(), time.Second), 0o644); err != nil {
		t.Fatal(err)
	}

	a.do(chromedp.Navigate("file://" + file))
	a.shows("seed 0: epoch 40 of 40, loss 0.25")

	if got := a.text(`getComputedStyle(document.querySelector("thead th")).fontWeight`); got != "600" {
		t.Errorf("the file has no style: %s", got)
	}

	a.shot("file")
	a.clean("")
}

// The documents' search finds sections by their words, and its links lead to them.
func TestHelpInBrowser(t *testing.T) {
	b := openBrowser(t)
	s, _ := serve(t, finished(t), "127.0.0.1:0")

	b.do(chromedp.Navigate(s.URL()+"help/reference/tables.html"), chromedp.WaitVisible("#search"),
		chromedp.SendKeys("#search", "left-out groups scale"))
	b.shows("Scale of the error")
	b.shot("search")

	found := b.text(`[...document.querySelectorAll("#found a")].find(a => a.text.endsWith("Scale of the error")).href`)
	b.do(chromedp.Navigate(found), chromedp.WaitVisible("#scale-of-the-error"))
	b.shows("In units of the training outcomes")
	b.clean("")
	b.shot("help")
}
