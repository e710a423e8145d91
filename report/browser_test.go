package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"doubletake/internal/must"
)

// needChromium returns the path of a Chromium, or skips the test by name;
// DOUBLETAKE_REQUIRE_CHROMIUM=1 makes its absence a failure.
func needChromium(t *testing.T) string {
	t.Helper()

	must.BeLong(t, "opens a browser")

	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}

	must.Never(t, os.Getenv("DOUBLETAKE_REQUIRE_CHROMIUM") == "1",
		"no Chromium is installed (Debian: apt-get install chromium)")

	t.Skip("no Chromium is installed (Debian: apt-get install chromium)")

	return ""
}

// browser is a tab that remembers what went wrong in it.
type browser struct {
	ctx context.Context
	t   *testing.T
	url string

	mu       sync.Mutex
	problems []string
}

func openBrowser(t *testing.T, path, page string) *browser {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, stop2 := chromedp.NewContext(ctx)
	t.Cleanup(stop2)
	ctx, stop3 := context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(stop3)
	b := &browser{ctx: ctx, t: t, url: "file://" + page}
	chromedp.ListenTarget(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()

		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())

		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				var words []string
				for _, a := range e.Args {
					words = append(words, string(a.Value))
				}

				b.problems = append(b.problems, "console: "+string(e.Type)+" "+strings.Join(words, " "))
			}

		case *cdplog.EventEntryAdded:
			b.problems = append(b.problems, "log: "+e.Entry.Text)

		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, b.url) && !strings.HasPrefix(u, "data:") &&
				!strings.HasPrefix(u, "blob:") {
				b.problems = append(b.problems, "request: "+u)
			}
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

func (b *browser) open(width, height int64, hash string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate("about:blank"), chromedp.Navigate(b.url+hash),
		chromedp.WaitReady("body"))
}

func (b *browser) text(js string) string {
	b.t.Helper()
	var s string
	b.do(chromedp.Evaluate(js, &s))
	return s
}

func (b *browser) number(js string) float64 {
	b.t.Helper()
	var v float64
	b.do(chromedp.Evaluate(js, &v))
	return v
}

// unfold opens every folded part.
func (b *browser) unfold() {
	b.t.Helper()
	b.do(chromedp.Evaluate(`for (const d of document.querySelectorAll("details")) d.open = true`, nil))
}

// pdf prints the page on A4.
func (b *browser) pdf() (pdf []byte, pages int) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = cdppage.PrintToPDF().WithPaperWidth(8.27).WithPaperHeight(11.69).WithPreferCSSPageSize(
			false).WithPrintBackground(false).Do(ctx)
		return err
	}))

	return pdf, len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(pdf, -1))
}

// clean fails if the page wrote to the console or requested anything.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, p := range b.problems {
		if !strings.Contains(p, "about:blank") {
			b.t.Error(p)
		}
	}

	b.problems = nil
}

func writePage(t *testing.T, details ...*Detail) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "report.html")
	must.Do(t, os.WriteFile(path, Page(details), 0o644))

	return path
}

// TestPageInChromium opens the page from disk in a real browser. The expected
// behaviour is the project's requirement; there is nothing to compute.
func TestPageInChromium(t *testing.T) {
	path := needChromium(t)

	d := campaign(4, 15, 13, 2, 3)
	b := openBrowser(t, path, writePage(t, d, airfoilOf("airfoil")))

	t.Run("quiet, and nothing leaves the page", func(t *testing.T) {
		b.t = t

		// The largest page that is promised: 780 recordings, 5 seeds, 4 splits.
		big := filepath.Join(t.TempDir(), "report.html")
		must.Do(t, os.WriteFile(big, Page([]*Detail{campaign(4, 15, 13, 4, 5)}), 0o644))

		defer func(u string) { b.url = u }(b.url)
		b.url = "file://" + big
		b.open(1600, 1000, "")

		must.Not(t, b.number(`document.querySelectorAll("svg.dtf").length`) < 10, "figures are missing")

		t.Logf("interactive after %.0f ms",
			b.number(`performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart`))
		b.clean()
	})

	t.Run("no overflow", func(t *testing.T) {
		b.t = t
		for _, w := range []int64{360, 390, 768, 1600} {
			b.open(w, 900, "")
			b.unfold()

			if over := b.number(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("at %d px the page is %.0f px too wide: %s", w, over, b.text(
					`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1
						&& !e.closest(".scroll")).slice(0, 5).map(e => e.tagName + "." + e.className + " " + e.id).join(", ")`))
			}

		}

		b.clean()
	})

	t.Run("every control changes the readout", func(t *testing.T) {
		b.t = t
		b.open(1200, 1000, "#explore")
		state := func() string {
			return b.text(`document.getElementById("readout").textContent + "\n" + location.hash`)
		}
		change := func(id string) {
			t.Helper()
			before := state()
			pics := b.text(`document.getElementById("views").innerHTML`)
			b.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const c = document.getElementById(%q);
				if (c.type === "range") { c.value = String((+c.value + 1) %% (+c.max + 1)); 
					c.dispatchEvent(new Event("input", {bubbles: true})); }
				else { c.selectedIndex = (c.selectedIndex + 1) %% c.options.length;
					c.dispatchEvent(new Event("change", {bubbles: true})); } })()`, id), nil))

			after := state()
			must.Not(t, before == after, "control %s changes nothing: %s", id, after)

			a, z, _ := strings.Cut(before, "\n")

			a2, z2, _ := strings.Cut(after, "\n")
			must.Not(t, a == a2, "control %s leaves the words as they are: %s", id, a)
			must.Not(t, z == z2, "control %s leaves the link as it is: %s", id, z)
			must.Not(t, pics == b.text(`document.getElementById("views").innerHTML`),
				"control %s leaves the figures as they are", id)
		}

		var ids []string
		b.do(chromedp.Evaluate(`[...document.querySelectorAll("#controls select, #controls input")].map(e => e.id)`, &ids))

		if len(ids) != 7 { // experiment, split, seed, outcome, blades, speed, angle
			t.Errorf("controls %v; want seven", ids)
		}

		for i := len(ids) - 1; i >= 0; i-- { // the experiment last: it changes what the others are
			change(ids[i])
		}

		b.clean()
	})

	t.Run("deep links restore", func(t *testing.T) {
		b.t = t
		b.open(1200, 1000,
			"#explore?experiment=drone&split=3-blades&seed=2&outcome=bpf3_db&at.blades=4&at.rpm=5000&at.theta_deg=30")

		readout := b.text(`document.getElementById("readout").textContent`)
		must.Contain(t, readout, "3-blades", "seed 2", "harmonic 3", "4 blades", "5000 1/min", "30 deg", "trained on")

		// What the page writes into the address restores the same view.
		b.do(chromedp.Evaluate(
			`(() => { const c = document.getElementById("c-in-0"); c.selectedIndex = 1;
				c.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil))
		readout = b.text(`document.getElementById("readout").textContent`)
		hash := b.text(`location.hash`)
		b.open(1200, 1000, hash)

		if again := b.text(`document.getElementById("readout").textContent`); again != readout {
			t.Errorf("restored %q, was %q", again, readout)
		}

		// An address that fits nothing falls back to what there is.
		b.open(1200, 1000, "#explore?experiment=none&split=%00&seed=99&outcome=x&at.blades=NaN")

		must.Contain(t, b.text(`document.getElementById("readout").textContent`), "drone")

		b.clean()
	})

	t.Run("numbers are those of the data", func(t *testing.T) {
		b.t = t
		d := campaign(4, 15, 13, 2, 3) // the same again

		// Condition of 4 blades, 5000 1/min, 30 degrees: third blade count,
		// seventh speed, tenth angle.
		c := (2*15+6)*13 + 9
		must.Never(t, d.X[3*c] != 4 || d.X[3*c+1] != 5000 || d.X[3*c+2] != 30, "the fixture's order changed")

		b.open(1200, 1000,
			"#explore?experiment=drone&split=3-blades&seed=2&outcome=bpf3_db&at.blades=4&at.rpm=5000&at.theta_deg=30")
		read := func(series, attr string) float64 {
			return b.number(
				fmt.Sprintf(`(() => { const m = [...document.querySelectorAll("#views .mark")]
					.find(m => m.dataset.series === %q);
					const x = m.dataset.x.split(" ").map(Number);
					return +m.dataset[%q].split(" ")[x.indexOf(30)]; })()`, series, attr))
		}

		near := func(what string, got, want float64) {
			t.Helper()
			if diff := got - want; diff > 2e-5 || diff < -2e-5 { // the page holds 32-bit floats
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}

		near("mean", read("mean μ", "y"), d.Splits[1].Seeds[2].Mu[c*5+2])
		near("y1", read("pairs, trained on", "y"), d.Y1[c*5+2])
		b.clean()
	})

	t.Run("hover shows values", func(t *testing.T) {
		b.t = t
		b.open(1600, 1000, "")

		// The first point of a directivity, pointed at.
		b.do(chromedp.Evaluate(
			`document.querySelector("#x1 svg[id*=directivity] .mark[data-kind=points] path")
				.scrollIntoView({block: "center"})`, nil),
			chromedp.Sleep(300*time.Millisecond))

		b.do(chromedp.Evaluate(`(() => {
			const p = document.querySelector("#x1 svg[id*=directivity] .mark[data-kind=points] path");
			const m = p.getAttribute("d").match(/M([-\d.]+) ([-\d.]+)a([-\d.]+)/), s = p.ownerSVGElement;
			const q = new DOMPoint(+m[1] + +m[3], +m[2]).matrixTransform(p.getScreenCTM());
			s.dispatchEvent(new PointerEvent("pointermove", {clientX: q.x, clientY: q.y, bubbles: true})); })()`, nil))

		tip := b.text(`document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`)
		must.Contain(t, tip, "θ", "dB")

		b.clean()
	})

	t.Run("accessible (axe-core)", func(t *testing.T) {
		b.t = t

		axe, err := os.ReadFile(filepath.Join("testdata", "axe", "node_modules", "axe-core", "axe.min.js"))
		if err != nil {
			must.Never(t, os.Getenv("DOUBLETAKE_REQUIRE_CHROMIUM") == "1",
				"axe-core is not installed (npm ci in report/testdata/axe)")
			t.Skip("axe-core is not installed (npm ci in report/testdata/axe)")
		}

		// The check takes its time on every element; a small campaign has one of
		// each kind.
		small := filepath.Join(t.TempDir(), "report.html")
		must.Do(t, os.WriteFile(small, Page([]*Detail{campaign(2, 2, 5, 1, 2), airfoilOf("airfoil")}), 0o644))

		defer func(u string) { b.url = u }(b.url)

		b.url = "file://" + small
		for _, scheme := range []string{"light", "dark"} {
			b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{
				Name:  "prefers-color-scheme",
				Value: scheme,
			}}))

			for _, w := range []int64{map[string]int64{"light": 360, "dark": 1600}[scheme]} {
				b.open(w, 1000, "")
				b.unfold()
				b.do(chromedp.Evaluate(string(axe), nil))
				var raw string
				b.do(chromedp.Evaluate(
					`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
						.then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3)
						.map(n => n.html.slice(0, 200) + " " + n.failureSummary)}))))`,
					&raw, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))

				var found []struct {
					ID, Help string
					Nodes    []string
				}

				must.Do(t, json.Unmarshal([]byte(raw), &found))

				for _, v := range found {
					t.Errorf("%s, %d px: %s: %s\n  %s", scheme, w, v.ID, v.Help, strings.Join(v.Nodes, "\n  "))
				}
			}

		}

		b.do(emulation.SetEmulatedMedia())
		b.mu.Lock()
		b.problems = nil // axe itself may log
		b.mu.Unlock()
	})

	t.Run("scripts off", func(t *testing.T) {
		b.t = t
		b.do(emulation.SetScriptExecutionDisabled(true))
		b.open(1200, 1000, "")
		var nodes int64
		b.do(chromedp.Evaluate(`document.querySelectorAll("figure svg.dtf").length`, &nodes))

		must.Not(t, nodes < 10, "%d static figures", nodes)
		must.Equal(t, b.number(`document.getElementById("explore").getBoundingClientRect().height`), 0,
			"controls that do nothing are shown, px high")

		b.do(emulation.SetScriptExecutionDisabled(false))
		b.clean()
	})

	t.Run("print", func(t *testing.T) {
		b.t = t
		b.do(emulation.SetEmulatedMedia().WithMedia("print").WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
		b.open(800, 1000, "")

		if c := b.text(
			`getComputedStyle(document.body).backgroundColor + getComputedStyle(document.querySelector(".dtf .back") ||
				document.body).color`); !strings.HasPrefix(c, "rgb(255, 255, 255)") {
			t.Errorf("printed from a dark screen the paper is %s", c)
		}

		b.unfold()

		if shown := b.text(
			`[...document.querySelectorAll("#explore, #controls, button, select, input, nav, .skip, .files, #tip")]
				.filter(e => e.getBoundingClientRect().height > 0).map(e => e.tagName + "#" + e.id).join(", ")`); shown != "" {
			t.Errorf("what cannot be used on paper is printed: %s", shown)
		}

		// On A4 less 12 mm on either side there is room for 702 px.
		b.do(chromedp.EmulateViewport(700, 1000))

		if cut := b.text(
			`[...document.querySelectorAll(".scroll")].filter(s => s.scrollWidth > s.clientWidth + 1 && s.clientWidth > 0)
				.map(s => s.getAttribute("aria-label") + " " + (s.scrollWidth - s.clientWidth)).join("; ")`); cut != "" {
			t.Errorf("cut off in print: %s", cut)
		}

		// Two narrow figures that follow one another share a row: the one there is, and its copy.
		b.do(chromedp.Evaluate(`{const f = document.querySelector("figure.half"); f.after(f.cloneNode(true))}`, nil))

		if n := b.number(`document.querySelectorAll("figure.half").length`); n < 2 {
			t.Errorf("%v narrow figures", n)
		}

		if separate := b.text(
			`[...document.querySelectorAll("figure:not(.half) + figure.half + figure.half, h3 + figure.half + figure.half")]
				.filter(f => f.getBoundingClientRect().top !== f.previousElementSibling.getBoundingClientRect().top)
				.map(f => f.querySelector("svg").id).join(", ")`); separate != "" {
			t.Errorf("not next to the figure before: %s", separate)
		}

		// And a real PDF: of A4, in several pages, none of them wider than paper (a
		// browser shrinks all pages when one thing is too wide).
		pdf, pages := b.pdf()
		t.Logf("%d pages, %d bytes of PDF", pages, len(pdf))

		// Two experiments begin a page each, after one of headlines; each has
		// tables and figures of several pages.
		must.Not(t, !bytes.HasPrefix(pdf, []byte("%PDF-")) || pages < 6 || pages > 60, "%d pages in a PDF of %d bytes",
			pages, len(pdf))

		b.do(emulation.SetEmulatedMedia())
		b.clean()
	})
}

// TestPageIsShort opens the page of two experiments as a reader finds it: the verdict
// first, then one figure and one table of each experiment, the rest folded; at most
// 2500 words and eight pages of paper. The limits are the project's requirement.
func TestPageIsShort(t *testing.T) {
	path := needChromium(t)
	d := campaign(4, 15, 13, 2, 3)
	d.Experiment = judged(d.Experiment)
	b := openBrowser(t, path, writePage(t, d, airfoilOf("airfoil")))
	b.open(1400, 1000, "")
	order := b.text(`[...document.querySelectorAll("main h2, main figure, main table, main details.fold")]
		.filter(e => !e.parentElement.closest("details")).map(e => e.tagName === "DETAILS" ? "fold" :
			e.tagName === "H2" ? "h2 " + e.id.replace(/\d+/, "") : e.tagName.toLowerCase()).join(" ")`)
	t.Log(order)

	section := `(h2 x-t( figure)?( table)*( fold)*)`
	must.Not(t, !regexp.MustCompile(`^h2 verdict `+section+`( `+section+`)*( fold)+$`).MatchString(order),
		"the page's order is %s", order)
	must.Equal(t, b.number(`document.querySelectorAll("details[open]").length`), 0, "parts are open")

	n := len(strings.Fields(b.text(`document.body.innerText`)))
	_, pages := b.pdf()
	t.Logf("%d words outside folded parts, %d pages", n, pages)

	must.Not(t, n > 2500 || n < 150, "%d words outside folded parts, at most 2500", n)
	must.Not(t, pages > 8, "%d printed pages, at most 8", pages)

	// Enter opens a folded part, a link into one does so too, the button opens all of them.
	b.open(1400, 1000, "")
	b.do(chromedp.Evaluate(`document.querySelector("details.fold summary").focus()`, nil), chromedp.KeyEvent("\r"))

	must.Equal(t, b.number(`document.querySelectorAll("details[open]").length`), 1, "Enter on a folded part: are open")

	b.do(chromedp.Click(`a[href="#glossary"]`, chromedp.ByQuery))

	if h := b.number(`document.querySelector("#glossary dd").getBoundingClientRect().height`); !(h > 0) {
		t.Error("the link to the glossary does not open it")
	}

	b.do(chromedp.Click(`#unfold`, chromedp.ByQuery))

	must.Equal(t, b.number(`document.querySelectorAll("details:not([open])").length`), 0, "parts stay folded")

	b.clean()
}

// hostileNames would be markup, script, or turn their neighbours around.
var hostileNames = []string{
	`<script>window.hacked = 1</script>`, `"><img src=x onerror="window.hacked=1">`,
	`</script><script>window.hacked = 1</script>`, `' onmouseover='window.hacked=1`,
	strings.Repeat("a very long name ", 20)[:300], strings.Repeat("x", 300), "\u202eright to left override", "שלום עולם",
	`</style><style>*{display:none}`,
	`]]><svg onload="window.hacked=1">`, `javascript:window.hacked=1`, "&lt;b&gt; & 'quotes' \"double\"",
	"a\x00b\x1b[31mc",
}

// TestHostilePage gives every name of an experiment (its own, that of its
// split, its outcome, its condition, its run, its settings) such a text and
// looks at what a browser makes of it: text, and nothing else.
func TestHostilePage(t *testing.T) {
	path := needChromium(t)

	var all []*Detail
	for _, n := range hostileNames {
		all = append(all, airfoilOf(n))
	}

	page := filepath.Join(t.TempDir(), "report.html")
	must.Do(t, os.WriteFile(page, Page(all), 0o644))

	b := openBrowser(t, path, page)
	b.open(360, 800, "")

	// Every experiment, chosen and drawn by the scripts too.
	for i := range hostileNames {
		b.do(chromedp.Evaluate(
			fmt.Sprintf(`(() => { const c = document.getElementById("c-experiment"); c.selectedIndex = %d;
				c.dispatchEvent(new Event("change", {bubbles: true})); })()`, i), nil))

		if over := b.number(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("name %d makes the page %v px too wide", i, over)
		}
	}

	must.Not(t, b.text(`String(window.hacked)`) != "undefined", "a name was run as a script")

	if n := b.number(
		`document.querySelectorAll("img, iframe, object, embed").length + document.scripts.length - 3`); n != 0 {
		t.Errorf("%v foreign elements", n)
	}

	must.Equal(t, b.number(`document.querySelectorAll("style").length`), 1, "style sheets")

	for i, name := range hostileNames {
		h := b.text(fmt.Sprintf(`document.querySelector("#x%d h2").textContent`, i+1))
		must.Not(t, len([]rune(name)) < 60 && !strings.ContainsAny(name, "\u202e\x00") && !strings.Contains(h, name),
			"the title of name %d shows %q", i, h)
	}

	must.Not(t, strings.ContainsAny(b.text(`document.documentElement.outerHTML`), "\u202e\x1b"),
		"a control character or direction override is in the page")

	b.clean()
}
