package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train/honest/scale"
)

// needChromium returns the path of a Chromium, or skips the test by name;
// DOUBLETAKE_REQUIRE_CHROMIUM=1 makes its absence a failure.
func needChromium(t *testing.T) string {
	t.Helper()

	longtest.Skip(t, "opens a browser")

	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}

	require.NotEqual(t, "1", os.Getenv("DOUBLETAKE_REQUIRE_CHROMIUM"),
		"no Chromium is installed (Debian: apt-get install chromium)")

	t.Skip("no Chromium is installed (Debian: apt-get install chromium)")

	return ""
}

// browser is a tab that shows one page and collects what goes wrong in it.
type browser struct {
	tab    *tab
	t      *testing.T
	url    string        // of the page
	loaded chan struct{} // gets a value when a page was loaded

	mu       sync.Mutex // guards problems
	problems []string   // exceptions, warnings and requests since the last call of clean
}

// openBrowser starts the browser at path chromium for a page on disk. The browser ends with the test.
func openBrowser(t *testing.T, chromium, page string) *browser {
	t.Helper()
	b := &browser{t: t, url: "file://" + page, loaded: make(chan struct{}, 100)}
	b.tab = openTab(t, chromium, func(method string, parameters json.RawMessage) {
		if method == "Page.loadEventFired" {
			b.loaded <- struct{}{}
		}

		if problem := b.problem(method, parameters); problem != "" {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.problems = append(b.problems, problem)
		}
	})

	for _, domain := range []string{"Page", "Network", "Log", "Runtime"} {
		b.call(domain+".enable", nil)
	}

	return b
}

// watchedEvents are the events of which some must not happen.
var watchedEvents = []string{
	"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Network.requestWillBeSent",
}

// problem describes an event that must not happen in a page: an exception, a warning, an entry in the log, or a request
// for anything but the page itself. problem returns "" for all other events.
func (b *browser) problem(method string, parameters json.RawMessage) string {
	if !slices.Contains(watchedEvents, method) {
		return ""
	}

	var e struct {
		ExceptionDetails exception
		Type             string
		Args             []struct{ Value json.RawMessage }
		Entry            struct{ Text string }
		Request          struct{ URL string }
	}
	if err := json.Unmarshal(parameters, &e); err != nil {
		return method + ": " + err.Error()
	}

	switch method {
	case "Runtime.exceptionThrown":
		return "exception: " + e.ExceptionDetails.String()

	case "Runtime.consoleAPICalled":
		if e.Type != "error" && e.Type != "warning" {
			return ""
		}

		words := []string{"console:", e.Type}
		for _, argument := range e.Args {
			words = append(words, string(argument.Value))
		}

		return strings.Join(words, " ")

	case "Log.entryAdded":
		return "log: " + e.Entry.Text

	case "Network.requestWillBeSent":
		isAllowed := func(prefix string) bool { return strings.HasPrefix(e.Request.URL, prefix) }
		if !slices.ContainsFunc([]string{b.url, "data:", "blob:"}, isAllowed) {
			return "request: " + e.Request.URL
		}
	}

	return ""
}

// call sends a command, and ends the test if it fails.
func (b *browser) call(method string, p parameters) {
	b.t.Helper()
	require.NoError(b.t, b.tab.call(method, p, nil))
}

// resize gives the window a size in px.
func (b *browser) resize(width, height int64) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		parameters{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
}

// open loads the page anew in a window of the given size in px. hash is the part of the address from "#" on.
func (b *browser) open(width, height int64, hash string) {
	b.t.Helper()
	b.resize(width, height)

	for _, url := range []string{"about:blank", b.url + hash} {
		b.call("Page.navigate", parameters{"url": url})

		select {
		case <-b.loaded:
		case <-b.tab.ctx.Done():
			b.t.Fatalf("load %s: %v", url, b.tab.ctx.Err())
		}
	}
}

// run runs a script in the page.
func (b *browser) run(js string) {
	b.t.Helper()
	require.NoError(b.t, b.tab.evaluate(js, nil))
}

// press presses a key.
func (b *browser) press(key string) {
	b.t.Helper()
	require.NoError(b.t, b.tab.press(key))
}

// text returns the value of a JavaScript expression that is a string.
func (b *browser) text(js string) string {
	b.t.Helper()
	var s string
	require.NoError(b.t, b.tab.evaluate(js, &s))
	return s
}

// number returns the value of a JavaScript expression that is a number.
func (b *browser) number(js string) float64 {
	b.t.Helper()
	var v float64
	require.NoError(b.t, b.tab.evaluate(js, &v))
	return v
}

// unfold opens every folded part.
func (b *browser) unfold() {
	b.t.Helper()
	b.run(`for (const d of document.querySelectorAll("details")) d.open = true`)
}

// pdf prints the page on A4, and counts the pages.
func (b *browser) pdf() (pdf []byte, pages int) {
	b.t.Helper()

	var printed struct{ Data []byte }
	a4 := parameters{"paperWidth": 8.27, "paperHeight": 11.69} // inches
	require.NoError(b.t, b.tab.call("Page.printToPDF", a4, &printed))

	return printed.Data, len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(printed.Data, -1))
}

// clean fails if the page wrote to the console or requested anything, and forgets these problems.
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

// The browser notices an exception, an error on the console and a request for another file.
func TestBrowserNotices(t *testing.T) {
	chromium := needChromium(t)

	page := filepath.Join(t.TempDir(), "page.html")
	content := `<script src="other.js"></script><script>console.error("words"); throw new Error("thrown")</script>`
	require.NoError(t, os.WriteFile(page, []byte(content), 0o644))

	b := openBrowser(t, chromium, page)
	b.open(800, 600, "")

	b.mu.Lock()
	defer b.mu.Unlock()

	problems := strings.Join(b.problems, "\n")
	for _, want := range []string{
		"request: file://", "log: ", `console: error "words"`, "exception: Uncaught Error: thrown",
	} {
		assert.Contains(t, problems, want)
	}
}

// Expressions and addresses that several checks use.
const (
	readoutText = `document.getElementById("readout").textContent` // the words of the explorer

	// excessWidth is the width of the page less the window's, in px.
	excessWidth = `document.documentElement.scrollWidth - document.documentElement.clientWidth`

	// deepLink chooses a split, a model, an outcome and a condition of campaign(4, 15, 13, 2, 3).
	deepLink = "#explore?experiment=drone&split=3-blades&model=network&outcome=bpf3_db" +
		"&at.blades=4&at.rpm=5000&at.theta_deg=30"
)

// writePage writes the page of some experiments to a folder of the test, and returns its path.
func writePage(t *testing.T, details ...*Detail) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, Page(details), 0o644))

	return path
}

// calibratedCampaign is campaign(4, 15, 13, 2, 3) with a calibrated model, and with upper bounds at the lowest speed.
func calibratedCampaign() *Detail {
	d := campaign(4, 15, 13, 2, 3)
	d.Bound1 = make([]bool, len(d.Y1))
	d.Bound2 = make([]bool, len(d.Y2))
	d.MeanBound = make([]bool, len(d.Mean))
	for k := range d.Mean { // a condition has one triplet
		isBound := d.x(k/d.outcomeCount(), 1) == 2000
		d.Bound1[k] = isBound
		d.MeanBound[k] = isBound
	}

	for i := range d.Splits {
		split := &d.Splits[i]
		split.Calibrated = &Intervals{Level: 0.95}
		for k, mean := range d.Mean {
			mu := math.NaN()
			if split.Test[k/d.outcomeCount()] {
				mu = mean + 1
			}

			split.Calibrated.Mu = append(split.Calibrated.Mu, mu)
			split.Calibrated.Half = append(split.Calibrated.Half, mu-mean+2)
			split.Calibrated.Half68 = append(split.Calibrated.Half68, mu-mean)
		}

		for range d.Outcomes {
			split.Reached = append(split.Reached, Coverage{
				Nominal: []float64{0.5, 0.95}, Observed: [][]float64{{0.4, 0.9}},
			})
		}

		split.Losses = []Losses{{Epoch: []float64{1, 2}, Train: []float64{2, 1}, HeldOut: []float64{3, 2}}}
	}

	return d
}

// TestPageInChromium opens the page from disk in a real browser. The expected
// behaviour is the project's requirement; there is nothing to compute. Each check
// opens a browser of its own, so that no check depends on the state that another left.
func TestPageInChromium(t *testing.T) {
	chromium := needChromium(t)
	page := writePage(t, calibratedCampaign(), airfoilOf("airfoil"))

	t.Run("quiet, and nothing leaves the page", func(t *testing.T) { checkQuiet(t, chromium) })
	t.Run("no overflow", func(t *testing.T) { checkNoOverflow(t, chromium, page) })
	t.Run("every control changes the readout", func(t *testing.T) { checkControls(t, chromium, page) })
	t.Run("deep links restore", func(t *testing.T) { checkDeepLinks(t, chromium, page) })
	t.Run("numbers are those of the data", func(t *testing.T) { checkNumbers(t, chromium, page) })
	t.Run("hover shows values", func(t *testing.T) { checkHover(t, chromium, page) })
	t.Run("keys show values", func(t *testing.T) { checkKeys(t, chromium, page) })
	t.Run("grades are in sight", func(t *testing.T) { checkGradesInSight(t, chromium) })
	t.Run("accessible (axe-core)", func(t *testing.T) { checkAccessible(t, chromium) })
	t.Run("scripts off", func(t *testing.T) { checkScriptsOff(t, chromium, page) })
	t.Run("print", func(t *testing.T) { checkPrint(t, chromium, page) })
}

// checkQuiet opens the largest page that is promised: 780 recordings, 5 seeds, 4 splits.
func checkQuiet(t *testing.T, chromium string) {
	t.Helper()

	b := openBrowser(t, chromium, writePage(t, campaign(4, 15, 13, 4, 5)))
	b.open(1600, 1000, "")

	assert.GreaterOrEqual(t, b.number(`document.querySelectorAll("svg.dtf").length`), 10.0, "figures are missing")

	t.Logf("interactive after %.0f ms",
		b.number(`performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart`))
	b.clean()
}

// checkNoOverflow fails if the page is wider than a window, from a telephone's to a large screen's.
func checkNoOverflow(t *testing.T, chromium, page string) {
	t.Helper()

	b := openBrowser(t, chromium, page)
	for _, width := range []int64{360, 390, 768, 1600} {
		b.open(width, 900, "")
		b.unfold()

		if excess := b.number(excessWidth); excess > 0 {
			t.Errorf("at %d px the page is %.0f px too wide: %s", width, excess, b.text(
				`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1
					&& !e.closest(".scroll")).slice(0, 5).map(e => e.tagName + "." + e.className + " " + e.id).join(", ")`))
		}
	}

	b.clean()
}

// checkControls changes each control of the explorer and fails unless the words, the link and the figures change too.
func checkControls(t *testing.T, chromium, page string) {
	t.Helper()

	b := openBrowser(t, chromium, page)
	b.open(1200, 1000, "#explore")

	var ids []string
	controls := `[...document.querySelectorAll("#controls select, #controls input")].map(e => e.id)`
	require.NoError(t, b.tab.evaluate(controls, &ids))

	assert.Len(t, ids, 7, "experiment, split, model, outcome, blades, speed, angle")

	slices.Reverse(ids) // the experiment last, because it replaces the other controls
	for _, id := range ids {
		words := b.text(readoutText)
		link := b.text(`location.hash`)
		figures := b.text(`document.getElementById("views").innerHTML`)
		b.run(fmt.Sprintf(`(() => { const c = document.getElementById(%q);
			if (c.type === "range") { c.value = String((+c.value + 1) %% (+c.max + 1));
				c.dispatchEvent(new Event("input", {bubbles: true})); }
			else { c.selectedIndex = (c.selectedIndex + 1) %% c.options.length;
				c.dispatchEvent(new Event("change", {bubbles: true})); } })()`, id))

		assert.NotEqual(t, words, b.text(readoutText), "control %s leaves the words as they are", id)
		assert.NotEqual(t, link, b.text(`location.hash`), "control %s leaves the link as it is", id)
		assert.NotEqual(t, figures, b.text(`document.getElementById("views").innerHTML`),
			"control %s leaves the figures as they are", id)
	}

	b.clean()
}

// checkDeepLinks opens addresses that choose a view: a complete address, an address that the page wrote, and an address
// that fits nothing.
func checkDeepLinks(t *testing.T, chromium, page string) {
	t.Helper()

	b := openBrowser(t, chromium, page)
	b.open(1200, 1000, deepLink)

	readout := b.text(readoutText)
	for _, want := range []string{
		"3-blades", "the paper’s network", "harmonic 3", "4 blades", "5000 1/min", "30 deg", "trained on",
	} {
		assert.Contains(t, readout, want)
	}

	// What the page writes into the address restores the same view.
	b.run(
		`(() => { const c = document.getElementById("c-in-0"); c.selectedIndex = 1;
			c.dispatchEvent(new Event("change", {bubbles: true})); })()`)
	readout = b.text(readoutText)
	b.open(1200, 1000, b.text(`location.hash`))

	assert.Equal(t, readout, b.text(readoutText), "the link restored another view")

	// An address that fits nothing falls back to the first experiment.
	b.open(1200, 1000, "#explore?experiment=none&split=%00&model=99&outcome=x&at.blades=NaN")

	assert.Contains(t, b.text(readoutText), "drone")

	b.clean()
}

// checkNumbers compares what the figures of the explorer show at one condition with the numbers of the campaign.
func checkNumbers(t *testing.T, chromium, page string) {
	t.Helper()

	d := calibratedCampaign() // the same numbers as those of the page

	// Condition of 4 blades, 5000 1/min, 30 degrees: third blade count,
	// seventh speed, tenth angle.
	c := (2*15+6)*13 + 9
	require.Equal(t, []float64{4, 5000, 30}, d.X[3*c:3*c+3], "the fixture's order changed")

	b := openBrowser(t, chromium, page)
	b.open(1200, 1000, deepLink)

	// shown returns the y of a series at 30 degrees.
	shown := func(series string) float64 {
		return b.number(fmt.Sprintf(`(() => { const m = [...document.querySelectorAll("#views .mark")]
			.find(m => m.dataset.series === %q);
			const x = m.dataset.x.split(" ").map(Number);
			return +m.dataset.y.split(" ")[x.indexOf(30)]; })()`, series))
	}

	const rounding = 2e-5 // the page holds 32-bit floats
	mean := 0.0           // over the three seeds
	for _, seed := range d.Splits[1].Seeds {
		mean += seed.Mu[c*5+2] / 3
	}

	assert.InDelta(t, mean, shown("mean μ"), rounding)
	assert.InDelta(t, d.Y1[c*5+2], shown("pairs, trained on"), rounding)
	b.clean()
}

// tipText is the text of the tip, or "" if none is shown.
const tipText = `document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`

// checkHover points at the first point of a directivity with a mouse, and touches it, and reads the tip.
func checkHover(t *testing.T, chromium, page string) {
	t.Helper()

	b := openBrowser(t, chromium, page)
	b.open(1600, 1000, "")
	b.run(
		`document.querySelector("#x1 svg[id*=directivity] .mark[data-kind=points] path")
			.scrollIntoView({block: "center"})`)
	time.Sleep(300 * time.Millisecond)

	const pointAtFirst = `(() => {
		const p = document.querySelector("#x1 svg[id*=directivity] .mark[data-kind=points] path");
		const m = p.getAttribute("d").match(/M([-\d.]+) ([-\d.]+)a([-\d.]+)/), s = p.ownerSVGElement;
		const q = new DOMPoint(+m[1] + +m[3], +m[2]).matrixTransform(p.getScreenCTM());
		s.dispatchEvent(new PointerEvent(%q, {clientX: q.x, clientY: q.y, bubbles: true})); })()`
	for _, event := range []string{"pointermove", "pointerdown"} {
		b.run(`document.body.dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}))`)
		assert.Empty(t, b.text(tipText), "the tip after a touch beside all figures")

		b.run(fmt.Sprintf(pointAtFirst, event))
		tip := b.text(tipText)
		assert.Contains(t, tip, "polar angle θ (deg): −60\n", event)
		assert.Contains(t, tip, "BPF harmonic 1 L₁ (dB re 20 µPa): ", event)
		assert.Contains(t, tip, "\nrun 0 7\n", "%s: the run of two blades at 5500 1/min", event)
	}

	b.clean()
}

// checkKeys walks through the parity of the calibrated model with the keyboard. The expected values are the predicted
// means of the first outcome at the held-out conditions that the page draws, from the least to the greatest.
func checkKeys(t *testing.T, chromium, page string) {
	t.Helper()

	d := calibratedCampaign()
	_, held := d.Splits[0].trainedAndHeldOut(d.conditionCount())
	var predicted []float64
	for _, c := range thin(held, pageLimits[0].conditions) {
		if i := c * d.outcomeCount(); !d.MeanBound[i] {
			predicted = append(predicted, d.Splits[0].Calibrated.Mu[i])
		}
	}

	slices.Sort(predicted)

	b := openBrowser(t, chromium, page)
	b.open(1200, 1000, "")
	b.unfold()
	b.press("Tab")
	b.run(`document.querySelector("#x1 svg[id*=honest-parity]").parentElement.focus()`)

	value := func(number float64) string { return fmt.Sprintf("predicted mean μ (dB re 20 µPa): %.4g", number) }
	assert.Contains(t, b.text(tipText), "held out\nrun 0 ")
	assert.Contains(t, b.text(tipText), value(predicted[0]))
	assert.Contains(t, b.text(tipText), "← → points, ↑ ↓ series")

	b.press("ArrowRight")
	assert.Contains(t, b.text(tipText), value(predicted[1]))
	assert.Contains(t, b.text(`document.getElementById("spoken").textContent`), value(predicted[1]), "words to be spoken")

	b.press("End")
	assert.Contains(t, b.text(tipText), value(predicted[len(predicted)-1]))

	b.press("ArrowDown")
	assert.Contains(t, b.text(tipText), boundsName, "the next series")
	assert.Equal(t, 1.0, b.number(`document.querySelectorAll(".cursor").length`), "marks of the chosen point")

	b.press("Escape")
	assert.Empty(t, b.text(tipText), "the tip after Escape")
	assert.Zero(t, b.number(`document.querySelectorAll(".cursor").length`), "marks of the chosen point after Escape")

	b.clean()
}

// checkGradesInSight fails unless the grades of the widest table of results are in sight, without scrolling it, on
// screens from a telephone's to a large one.
func checkGradesInSight(t *testing.T, chromium string) {
	t.Helper()

	d := calibratedCampaign()
	d.Experiment = judged(d.Experiment)
	for i := range d.Experiment.Splits { // with all columns that a table of results may have
		split := &d.Experiment.Splits[i]
		for _, outcome := range d.Experiment.Outcomes {
			split.Held = append(split.Held, HeldOutcome{
				Outcome: outcome, Values: 390, Bounds: 86, Measured: &split.recommended()[0], MeanError: 12.04, LinearError: 5.83,
			})
		}
	}

	b := openBrowser(t, chromium, writePage(t, d))
	for _, width := range []int64{390, 768, 1280, 1680} {
		b.open(width, 900, "")

		assert.Equal(t, 4.0, b.number(`document.querySelectorAll(".results .grade .chip").length`), "grades of four rows")
		assert.Empty(t, b.text(`[...document.querySelectorAll(".results .grade .chip")].map(c => c.getBoundingClientRect())
			.filter(r => r.left < 0 || r.right > innerWidth).map(r => r.left + " to " + r.right).join("; ")`),
			"grades out of sight at %d px", width)
	}

	b.clean()
}

// checkAccessible lets axe-core judge the page on a light telephone and on a dark large screen.
func checkAccessible(t *testing.T, chromium string) {
	t.Helper()

	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("DOUBLETAKE_REQUIRE_CHROMIUM"),
			"axe-core is not installed (npm ci in report/testdata/axe)")
		t.Skip("axe-core is not installed (npm ci in report/testdata/axe)")
	}

	// axe-core spends time on every element; a small campaign has an element of each kind. A run whose splits were not
	// trained has no results; a measured example has one outcome.
	small := calibratedCampaign()
	small.Experiment = judged(small.Experiment)
	single := calibratedDetail()
	single.Experiment.Data = "measured"
	single.Experiment.Splits[0].Honest.Calibration.Scale = &scale.Scale{}
	failed := &Detail{Experiment: Experiment{Name: "failed", Data: "measured", Skipped: []string{"x.wav: too short"}}}
	for name, details := range map[string][]*Detail{
		"simulated": {small, airfoilOf("airfoil")}, "one outcome": {single}, "failed": {failed},
	} {
		b := openBrowser(t, chromium, writePage(t, details...))
		for _, screen := range []struct {
			scheme string
			width  int64
		}{{"light", 360}, {"dark", 1600}} {
			b.call("Emulation.setEmulatedMedia", parameters{"features": colourScheme(screen.scheme)})
			b.open(screen.width, 1000, "")
			b.unfold()
			b.run(string(axe))

			for _, violation := range b.axeViolations() {
				t.Errorf("%s, %s, %d px: %s: %s\n  %s", name, screen.scheme, screen.width, violation.ID, violation.Help,
					strings.Join(violation.Nodes, "\n  "))
			}
		}
	}

	// No b.clean(): axe-core itself may write to the console.
}

// colourScheme is the feature of media that asks for a scheme of colours, "light" or "dark".
func colourScheme(scheme string) []parameters {
	return []parameters{{"name": "prefers-color-scheme", "value": scheme}}
}

// axeViolation is a rule of axe-core that the page breaks, with up to three elements that break it.
type axeViolation struct {
	ID, Help string
	Nodes    []string
}

// axeViolations runs axe-core, which must be loaded into the page.
func (b *browser) axeViolations() []axeViolation {
	b.t.Helper()

	raw := b.text(
		`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
			.then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3)
			.map(n => n.html.slice(0, 200) + " " + n.failureSummary)}))))`)

	var violations []axeViolation
	require.NoError(b.t, json.Unmarshal([]byte(raw), &violations))

	return violations
}

// checkScriptsOff fails unless a browser without scripts shows the figures, and hides the controls, which need scripts.
func checkScriptsOff(t *testing.T, chromium, page string) {
	t.Helper()

	b := openBrowser(t, chromium, page)
	b.call("Emulation.setScriptExecutionDisabled", parameters{"value": true})
	b.open(1200, 1000, "")

	assert.GreaterOrEqual(t, b.number(`document.querySelectorAll("figure svg.dtf").length`), 10.0,
		"static figures are missing")
	assert.Equal(t, 0.0, b.number(`document.getElementById("explore").getBoundingClientRect().height`),
		"controls that do nothing are shown, px high")

	b.clean()
}

// checkPrint looks at the page as it goes to paper from a dark screen, and prints it to a PDF.
func checkPrint(t *testing.T, chromium, page string) {
	t.Helper()

	b := openBrowser(t, chromium, page)
	b.call("Emulation.setEmulatedMedia", parameters{"media": "print", "features": colourScheme("dark")})
	b.open(800, 1000, "")

	colours := b.text(`getComputedStyle(document.body).backgroundColor +
		getComputedStyle(document.querySelector(".dtf .back") || document.body).color`)
	assert.True(t, strings.HasPrefix(colours, "rgb(255, 255, 255)"),
		"printed from a dark screen the paper is %s", colours)

	b.unfold()

	assert.Empty(t, b.text(
		`[...document.querySelectorAll("#explore, #controls, button, select, input, nav, .skip, .files, #tip")]
			.filter(e => e.getBoundingClientRect().height > 0).map(e => e.tagName + "#" + e.id).join(", ")`),
		"elements that cannot be used on paper are printed")

	// On A4 less 12 mm on either side there is room for 702 px.
	b.resize(700, 1000)

	assert.Empty(t, b.text(
		`[...document.querySelectorAll(".scroll")].filter(s => s.scrollWidth > s.clientWidth + 1 && s.clientWidth > 0)
			.map(s => s.getAttribute("aria-label") + " " + (s.scrollWidth - s.clientWidth)).join("; ")`),
		"cut off in print")

	b.checkNarrowFigures()
	b.checkPDF()
	b.clean()
}

// checkNarrowFigures fails unless two narrow figures that follow one another share a row. The page has one narrow
// figure, so checkNarrowFigures puts a copy after it.
func (b *browser) checkNarrowFigures() {
	b.t.Helper()
	b.run(`{const f = document.querySelector("figure.half"); f.after(f.cloneNode(true))}`)

	assert.GreaterOrEqual(b.t, b.number(`document.querySelectorAll("figure.half").length`), 2.0, "narrow figures")
	assert.Empty(b.t, b.text(
		`[...document.querySelectorAll("figure:not(.half) + figure.half + figure.half, h3 + figure.half + figure.half")]
			.filter(f => f.getBoundingClientRect().top !== f.previousElementSibling.getBoundingClientRect().top)
			.map(f => f.querySelector("svg").id).join(", ")`),
		"narrow figures are not next to the figure before")
}

// checkPDF fails unless the PDF on A4 has several pages, none of them wider than paper (a browser shrinks all pages if
// one thing is too wide). Each of the two experiments begins a page and has tables and figures of several pages.
func (b *browser) checkPDF() {
	b.t.Helper()

	pdf, pages := b.pdf()
	size := fmt.Sprintf("%d pages in a PDF of %d bytes", pages, len(pdf))
	b.t.Log(size)

	require.True(b.t, bytes.HasPrefix(pdf, []byte("%PDF-")), size)
	require.GreaterOrEqual(b.t, pages, 6, size)
	assert.LessOrEqual(b.t, pages, 12, size)
}

// openedWords counts the words of the page with all parts open, without the texts of figures.
const openedWords = `(() => { for (const d of document.querySelectorAll("details")) d.open = true;
	let n = 0; const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) { const e = walk.currentNode.parentElement;
		if (!e.closest("svg, script, style") && e.checkVisibility())
			n += walk.currentNode.data.split(/\s+/).filter(Boolean).length; }
	return n; })()`

// TestPageIsShort opens the page of two experiments as a reader finds it: of each experiment the verdicts, the next
// step, the table and one figure, the rest folded. The limits are the project's requirement.
func TestPageIsShort(t *testing.T) {
	chromium := needChromium(t)
	d := calibratedCampaign()
	d.Experiment = judged(d.Experiment)
	b := openBrowser(t, chromium, writePage(t, d, airfoilOf("airfoil")))
	b.open(1400, 1000, "")

	// The kinds of the parts that are not folded, in order, such as "h2 verdicts table figure fold".
	order := b.text(`[...document.querySelectorAll("h2, .verdicts, .next, figure, table, details.fold")]
		.filter(e => !e.parentElement.closest("details")).map(e => e.tagName === "DETAILS" ? "fold" :
			e.className.split(" ")[0] || e.tagName.toLowerCase()).join(" ")`)
	t.Log(order)

	// The first experiment is judged. Its folded parts are the calibrated model on two splits, the network, the data's
	// figures, and the warnings. The second has no calibration: its parts are the network and the warnings. Explore
	// follows, and then the words.
	assert.Equal(t, "h2 verdicts next table figure fold fold fold fold fold "+
		"h2 verdicts figure fold fold fold h2", order)
	assert.Equal(t, 0.0, b.number(`document.querySelectorAll("details[open]").length`), "parts are open")

	_, pages := b.pdf()
	assert.LessOrEqual(t, pages, 10, "printed pages; all parts are printed")

	n := b.number(openedWords)
	t.Logf("%g words with all parts open, %d pages", n, pages)
	assert.LessOrEqual(t, n, 2190.0, "words of these two experiments; the default run then has three, and less than 3,000")
	assert.GreaterOrEqual(t, n, 1500.0, "all parts are counted")

	b.checkUnfolding()
	b.clean()
}

// checkUnfolding fails unless Enter opens a folded part, a link into a folded part opens it, and the button opens all.
func (b *browser) checkUnfolding() {
	b.t.Helper()
	b.open(1400, 1000, "")
	b.run(`document.querySelector("details.fold summary").focus()`)
	b.press("Enter")

	assert.Equal(b.t, 1.0, b.number(`document.querySelectorAll("details[open]").length`), "parts open after Enter")

	// A word of a heading opens its explanation by keyboard, and Escape closes it.
	b.run(`document.querySelector("button.term").focus()`)
	b.press("Enter")
	assert.Equal(b.t, 1.0, b.number(`document.querySelectorAll(":popover-open").length`), "explanations open after Enter")
	b.press("Escape")
	assert.Zero(b.t, b.number(`document.querySelectorAll(":popover-open").length`), "explanations open after Escape")

	require.NoError(b.t, b.tab.click(`#unfold`))

	assert.Equal(b.t, 0.0, b.number(`document.querySelectorAll("details:not([open])").length`), "parts stay folded")
	assert.Zero(b.t, b.number(`document.querySelectorAll("[title]").length`), "explanations that no key or touch reaches")
}

// hostileNames are names that a careless page would show as markup, run as a script, or that would turn their
// neighbours around.
var hostileNames = []string{
	`<script>window.hacked = 1</script>`, `"><img src=x onerror="window.hacked=1">`,
	`</script><script>window.hacked = 1</script>`, `' onmouseover='window.hacked=1`,
	strings.Repeat("a very long name ", 20)[:300], strings.Repeat("x", 300), "\u202eright to left override", "שלום עולם",
	`</style><style>*{display:none}`,
	`]]><svg onload="window.hacked=1">`, `javascript:window.hacked=1`, "&lt;b&gt; & 'quotes' \"double\"",
	"a\x00b\x1b[31mc", "d\u009b31me\u200ff\u2028g",
}

// TestHostilePage gives a hostile name to everything that has one (experiment, split, outcome, condition, run,
// settings), and checks that a browser shows the name as text.
func TestHostilePage(t *testing.T) {
	chromium := needChromium(t)

	var all []*Detail
	for _, n := range hostileNames {
		all = append(all, airfoilOf(n))
	}

	b := openBrowser(t, chromium, writePage(t, all...))
	b.open(360, 800, "")

	// Every experiment, chosen and drawn by the scripts too.
	for i := range hostileNames {
		b.run(
			fmt.Sprintf(`(() => { const c = document.getElementById("c-experiment"); c.selectedIndex = %d;
				c.dispatchEvent(new Event("change", {bubbles: true})); })()`, i))

		if excess := b.number(excessWidth); excess > 0 {
			t.Errorf("name %d makes the page %v px too wide", i, excess)
		}
	}

	assert.Equal(t, "undefined", b.text(`String(window.hacked)`), "a name was run as a script")

	if n := b.number(
		`document.querySelectorAll("img, iframe, object, embed").length + document.scripts.length - 3`); n != 0 {
		t.Errorf("%v foreign elements", n)
	}

	assert.Equal(t, 1.0, b.number(`document.querySelectorAll("style").length`), "style sheets")

	for i, name := range hostileNames {
		title := b.text(fmt.Sprintf(`document.querySelector("#x%d h2").textContent`, i+1))
		isShortened := len([]rune(name)) >= 60
		isCleaned := strings.ContainsAny(name, "\u202e\x00\u009b")
		if !isShortened && !isCleaned {
			assert.Contains(t, title, name, "the title of name %d", i)
		}
	}

	assert.False(t, strings.ContainsAny(b.text(`document.documentElement.outerHTML`), "\u202e\x1b"),
		"a control character or direction override is in the page")

	b.clean()
}
