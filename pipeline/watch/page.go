package watch

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"doubletake/report/figure"
)

//go:embed page.html.tmpl page.css page.js
var files embed.FS

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(files, "page.html.tmpl"))
})

// reportFile is the page of all experiments, in the work directory.
const reportFile = "report.html"

// Bounds of what is shown.
const (
	mostRunning = 200
	mostFailed  = 50
	mostSplits  = 100
	mostLines   = 20 // of a split, those at work first
	mostSeeds   = 6  // of a split, in words
)

// part is a piece of the page that changes as a whole.
type part struct {
	id, html string
	curve    bool
}

func style() string {
	b, err := files.ReadFile("page.css")
	if err != nil {
		panic("watch: " + err.Error()) // it is embedded
	}

	return string(b) + figure.Style()
}

func render(name string, v any) string {
	var b bytes.Buffer
	if err := page().ExecuteTemplate(&b, name, v); err != nil {
		panic("watch: " + err.Error()) // the templates and the values are this package's
	}

	return b.String()
}

// parts renders the state: the fixed parts in order, then a figure per split.
func (w *Watcher) parts(now time.Time, link string) (out []part) {
	for _, p := range []struct {
		id string
		v  any
	}{
		{"run", w.runView(now)},
		{"stages", w.stageViews(now)},
		{"running", w.runningView(now)},
		{"failed", w.failedView()},
		{"results", w.resultsView(link)},
	} {
		out = append(out, part{id: p.id, html: render(p.id, p.v)})
	}

	return append(out, w.figures()...)
}

// document is the whole page.
type document struct {
	Static        bool
	Reload        int // seconds
	Title, Now    string
	Style         template.CSS
	Fixed, Curves []template.HTML
}

func (w *Watcher) document(now time.Time, parts []part) document {
	d := document{Title: w.title(), Now: now.Format(time.DateTime)}
	for _, p := range parts {
		if p.curve {
			d.Curves = append(d.Curves, template.HTML(p.html))
		} else {
			d.Fixed = append(d.Fixed, template.HTML(p.html))
		}
	}

	return d
}

// Page returns the state as one file that needs neither network nor scripts. While a
// run is at work, browsers read it anew every reload.
func (w *Watcher) Page(now time.Time, reload time.Duration) []byte {
	d := w.document(now, w.parts(now, reportFile))
	d.Static, d.Style = true, template.CSS(style())
	if s := w.driver(); s != nil && !s.ended {
		d.Reload = int(reload.Seconds())
	}

	return []byte(render("page", d))
}

// title names the work directory and the folder it is in.
func (w *Watcher) title() string {
	abs, err := filepath.Abs(w.dir)
	if err != nil {
		return w.dir
	}

	return filepath.Join(filepath.Base(filepath.Dir(abs)), filepath.Base(abs))
}

// runView is the state of the run in words.
type runView struct {
	State string
	Facts []string
	Error string
}

func (w *Watcher) runView(now time.Time) (v runView) {
	say := func(format string, args ...any) { v.Facts = append(v.Facts, fmt.Sprintf(format, args...)) }

	s := w.driver()
	if s == nil {
		working := 0
		for _, s := range w.sources {
			if !s.ended && !s.silent(now) {
				working++
			}
		}

		_, tasks := w.planned()

		switch {
		case len(w.sources) == 0:
			v.State = "No journal of a run"
			return v
		case working > 0:
			v.State = "Tasks are made one by one"
			say("Processes at work: %d.", working)
		default:
			v.State = "No task is being made"
		}

		say("Tasks made alone (pipeline exec): %d of %d in the plan.", w.ended(), tasks)
		say("Of those that wait some may have a result that is older than the journals.")

		return v
	}

	say("Process %d on %s, program %s, began %s.", s.head.Process, s.head.Host, s.head.Program,
		s.head.Time.Local().Format(time.DateTime))

	_, failures := w.making()
	switch {
	case s.ended && w.end.Text != "":
		v.State = "Interrupted"
		say("Ended %s.", w.end.Time.Local().Format(time.DateTime))
		v.Error = w.end.Text

	case s.ended && len(failures) > 0:
		v.State = "Ended with failures"
		say("It took %s.", Words(w.end.Time.Sub(s.head.Time)))
	case s.ended:
		v.State = "Done"
		say("It took %s.", Words(w.end.Time.Sub(s.head.Time)))
	case s.silent(now):
		v.State = "No sign of life since " + s.alive.Format(time.DateTime)
		say("The process was killed, or its machine does not reach the work directory. Run again to go on.")
	default:
		v.State = "Running"
		say("For %s.", Words(now.Sub(s.head.Time)))
		say("About %s left.", Words(w.left.Left(now)))
	}

	return v
}

// Words writes a duration as a reader needs it: 14 s, 3 min, 2 h 10 min.
func Words(d time.Duration) string {
	switch m := int(d.Minutes() + 0.5); {
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case m < 100:
		return fmt.Sprintf("%d min", m)
	default:
		return fmt.Sprintf("%d h %d min", m/60, m%60)
	}
}

type stageView struct {
	Name                                                           string
	Tasks, Done, Percent, Made, UpToDate, Running, Failed, Waiting int
	Rate, Mean                                                     string
}

func (w *Watcher) stageViews(now time.Time) []stageView {
	var out []stageView
	ended := w.end != nil
	plan, _ := w.planned()
	tasks := map[string]int{}

	var names []string
	for _, c := range plan {
		tasks[c.Stage], names = c.Tasks, append(names, c.Stage)
	}

	for _, name := range w.stages {
		if tasks[name] == 0 {
			names = append(names, name)
		}
	}

	counts := w.counts(now)
	for _, name := range names {
		st := cmp.Or(counts[name], &stage{})
		v := stageView{
			Name: name, Tasks: max(st.tasks, tasks[name]), Made: st.made, UpToDate: st.found, Running: st.running,
			Failed: st.failed,
		}

		v.Done = v.Made + v.UpToDate
		v.Percent = 100 * v.Done / max(1, v.Tasks)
		v.Waiting = max(0, v.Tasks-v.Done-v.Running-v.Failed)
		if st.made > 0 {
			if mean := st.seconds / float64(st.made); mean < 10 {
				v.Mean = fmt.Sprintf("%.2g s", mean)
			} else {
				v.Mean = Words(time.Duration(mean * float64(time.Second)))
			}

			v.Rate = st.rate(now, ended)
		}

		out = append(out, v)
	}

	return out
}

// rate is how many tasks were made in the last minute; when the stage has ended, over
// its whole time.
func (st *stage) rate(now time.Time, ended bool) string {
	n, over := float64(st.made), st.last.Sub(st.first)
	if !ended && st.running > 0 {
		n, over = float64(st.recent), min(time.Minute, now.Sub(st.first))
	}

	switch perSecond := n / max(over.Seconds(), 0.1); {
	case perSecond >= 1:
		return fmt.Sprintf("%.3g/s", perSecond)
	case perSecond*60 >= 1 || perSecond == 0:
		return fmt.Sprintf("%.2g/min", perSecond*60)
	default:
		return fmt.Sprintf("%.2g/h", perSecond*3600)
	}
}

// taskView is a task that is being made, or failed.
type taskView struct{ ID, Where, Since, For, Note, Text, Log, Tail string }

type taskList struct {
	Count, More int
	Tasks       []taskView
}

func (w *Watcher) runningView(now time.Time) taskList {
	making, _ := w.making()
	v := taskList{Count: len(making), More: max(0, len(making)-mostRunning)}
	for _, t := range making[:min(len(making), mostRunning)] {
		x := taskView{
			ID: t.task.ID, Where: t.where, Since: t.since.Local().Format(time.DateTime), For: Words(now.Sub(t.since)),
			Note: t.note,
		}

		if t.of.silent(now) {
			x.For, x.Note = "", "no sign of life since "+t.of.alive.Format(time.DateTime)
		} else if c := t.training; c != nil && len(c.loss.epoch) > 0 {
			x.Note = fmt.Sprintf("epoch %.0f of %d", c.loss.epoch[len(c.loss.epoch)-1], c.of)
			if t.note != "" {
				x.Note += "; " + t.note
			}
		}

		v.Tasks = append(v.Tasks, x)
	}

	return v
}

func (w *Watcher) failedView() taskList {
	_, failures := w.making()
	v := taskList{Count: len(failures), More: max(0, len(failures)-mostFailed)}
	for _, t := range failures[:min(len(failures), mostFailed)] {
		x := taskView{
			ID: t.task.ID, Where: cmp.Or(t.where, t.of.head.Host), Since: t.since.Local().Format(time.DateTime), Text: t.text,
			Tail: w.tail(t.log),
		}

		if x.Tail != "" {
			x.Log = t.log
		}

		if t.note != "" {
			x.Text = t.note + "\n" + x.Text
		}

		v.Tasks = append(v.Tasks, x)
	}

	return v
}

type verdictView struct {
	Experiment, Data, Name, HeldOut, Sentence string
	Old                                       bool
}

type reportView struct {
	Link, Time string
	Old        bool
}

func (w *Watcher) resultsView(link string) any {
	var v struct {
		Report *reportView
		Splits []verdictView
	}

	// The results of tasks that this run is still to make are an earlier one's.
	old := map[string]bool{}
	for _, t := range w.order {
		if t.task.Stage == "report" && t.state != "done" {
			old[t.task.Experiment] = true
		}
	}

	if !w.report.IsZero() {
		v.Report = &reportView{link, w.report.Format(time.DateTime), old[""]}
	}

	for _, e := range slices.Sorted(maps.Keys(w.verdicts)) {
		for _, s := range w.verdicts[e].Splits {
			s.Sentence = cmp.Or(s.Sentence, s.Verdict)
			v.Splits = append(v.Splits, verdictView{e, w.verdicts[e].Data, s.Name, s.HeldOut, s.Sentence, old[e]})
		}
	}

	return v
}

// split names a split of an experiment.
type split struct{ experiment, name string }

// drawn is a figure and what it was drawn from.
type drawn struct {
	from string
	part part
}

// figures draws the losses: a figure per split with a line per seed.
func (w *Watcher) figures() []part {
	seeds := map[split][]int{}
	for id, c := range w.curves {
		if len(c.loss.epoch) > 0 {
			k := split{id.experiment, id.split}
			seeds[k] = append(seeds[k], id.seed)
		}
	}

	splits := slices.SortedFunc(maps.Keys(seeds), func(a, b split) int {
		return cmp.Or(strings.Compare(a.experiment, b.experiment), strings.Compare(a.name, b.name))
	})
	splits = splits[:min(len(splits), mostSplits)]
	before := w.drawn
	w.drawn = map[split]drawn{}

	var out []part
	for _, k := range splits {
		slices.Sort(seeds[k])

		var from strings.Builder
		for _, seed := range seeds[k] {
			fmt.Fprintln(&from, seed, w.curves[curveID{k.experiment, k.name, seed}].stamp)
		}

		d := before[k]
		if d.from != from.String() {
			d = drawn{from.String(), w.draw(k, seeds[k])}
		}

		w.drawn[k] = d
		out = append(out, d.part)
	}

	return out
}

func (w *Watcher) draw(k split, seeds []int) part {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q", k.experiment, k.name)
	v := struct {
		ID, Key, Experiment, Split string
		Seeds                      []string
		SVG                        template.HTML
	}{
		ID: "c" + strconv.FormatUint(h.Sum64(), 36), Key: fmt.Sprintf("%x", k.experiment+"\x00"+k.name),
		Experiment: k.experiment, Split: k.name,
	}

	of := func(seed int) *curve { return w.curves[curveID{k.experiment, k.name, seed}] }
	if data := of(seeds[0]).data; data != "" && data != "measured" {
		v.Experiment += ", " + data + " data"
	}

	axis := figure.Axis{Label: "epoch"}
	panels := []figure.Panel{
		{Y: figure.Axis{Label: "loss, training pairs"}, Height: 200},
		{Y: figure.Axis{Label: "loss, held-out pairs"}, Height: 200},
	}

	shown := slices.Clone(seeds)
	working := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(shown, func(a, b int) int { return working[of(a).live] - working[of(b).live] })

	for _, seed := range shown[:min(len(shown), mostLines)] {
		c := of(seed)
		name := "seed " + strconv.Itoa(seed)
		panels[0].Marks = append(panels[0].Marks, c.loss.mark(name, "mean"))
		if len(c.held.epoch) > 0 {
			panels[1].Marks = append(panels[1].Marks, c.held.mark(name, "test"))
		}

		axis.Max = max(axis.Max, 1.03*float64(c.of))
	}

	if len(panels[1].Marks) == 0 {
		panels = panels[:1]
	}

	for i := range panels {
		panels[i].X = axis
		panels[i].Y.Min, panels[i].Y.Max = lossRange(panels[i].Marks)
	}

	if len(seeds) > mostSeeds {
		v.Seeds = w.short(k, seeds)
	} else {
		for _, seed := range seeds {
			v.Seeds = append(v.Seeds, of(seed).words(seed))
		}
	}

	f := &figure.Figure{
		ID: v.ID + "-svg", Title: "Losses of " + v.Experiment + ", split " + k.name, Desc: strings.Join(v.Seeds, "; "),
		Columns: 2, Panels: panels,
	}

	v.SVG = template.HTML(figure.Draw(f, figure.Options{Inline: true, Digits: 4}))

	return part{id: v.ID, html: render("curve", v), curve: true}
}

// short states where the trainings of many seeds are: those at work, and the range of
// those that are done.
func (w *Watcher) short(k split, seeds []int) (words []string) {
	done, lo, hi := 0, math.Inf(1), math.Inf(-1)
	for _, seed := range seeds {
		c := w.curves[curveID{k.experiment, k.name, seed}]
		switch {
		case !c.live:
			last := c.loss.value[len(c.loss.value)-1]
			done, lo, hi = done+1, min(lo, last), max(hi, last)
		case len(words) < mostSeeds:
			words = append(words, c.words(seed))
		}
	}

	if done > 0 {
		words = append(words, fmt.Sprintf("%d seeds done, loss %.3g to %.3g", done, lo, hi))
	}

	return words
}

// mark is the line as drawn.
func (l line) mark(name, class string) figure.Mark {
	l = l.thinned()
	return figure.Mark{Kind: figure.Line, Name: name, Quiet: true, Thin: true, Class: class, X: l.epoch, Y: l.value}
}

// words states where a training is.
func (c *curve) words(seed int) string {
	last := func(l line) float64 { return l.value[len(l.value)-1] }
	text := fmt.Sprintf("seed %d: epoch %.0f of %d, loss %.3g", seed, c.loss.epoch[len(c.loss.epoch)-1], c.of,
		last(c.loss))
	if len(c.held.epoch) > 0 {
		text += fmt.Sprintf(", held out %.3g", last(c.held))
	}

	return text
}

// lossRange leaves the high losses of the first twentieth of a line above the frame.
func lossRange(marks []figure.Mark) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, m := range marks {
		for i, v := range m.Y {
			if !math.IsInf(v, 0) && !math.IsNaN(v) && m.X[i] >= m.X[len(m.X)-1]/20 {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}

	room := 0.04 * (hi - lo)

	return lo - room, hi + room
}
