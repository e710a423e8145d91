package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// Bounds of what is read and kept.
const (
	curvePoints = 120             // of a line
	historySize = 16 << 20        // bytes of a history that is read
	metricsSize = 64 << 20        // bytes of metrics.json
	scanEvery   = 8 * time.Second // between searches for published results
)

// curveID names a training.
type curveID struct {
	experiment, split string
	seed              int
}

// curve is the course of one training.
type curve struct {
	task  *task  // of the present run; nil where that has nothing to make
	of    int    // epochs
	loss  line   // over the training pairs
	held  line   // over held-out pairs, at the epochs where it was taken
	stamp stamp  // of the file it was read from
	data  string // "simulated", "measured", …; "" where it is not known
	live  bool   // from a report, not from a finished training's history
}

// line is values by epoch, ascending.
type line struct{ epoch, value []float64 }

// add appends a value; of an epoch that comes again the later values count.
func (l *line) add(epoch, value float64) {
	n := sort.SearchFloat64s(l.epoch, epoch)
	l.epoch, l.value = append(l.epoch[:n], epoch), append(l.value[:n], value)
}

// thinned returns at most curvePoints of the values, evenly, the last with them.
func (l line) thinned() line {
	n := len(l.epoch)
	if n <= curvePoints {
		return l
	}

	var out line
	for i := range curvePoints {
		k := (i+1)*n/curvePoints - 1
		out.epoch, out.value = append(out.epoch, l.epoch[k]), append(out.value, l.value[k])
	}

	return out
}

// stamp tells whether a file changed.
type stamp struct {
	path string
	size int64
	time int64
}

func stampOf(path string, fi os.FileInfo) stamp {
	return stamp{path, fi.Size(), fi.ModTime().UnixNano()}
}

// trainingOf tells which training a task is; other tasks of the stage compare
// methods and learn intervals.
func trainingOf(l *engine.Line) (curveID, bool) {
	name, ok := strings.CutPrefix(l.Task, l.Experiment+"/train/"+l.Split+"/seed-")
	k, err := strconv.Atoi(name)
	return curveID{l.Experiment, l.Split, k}, ok && err == nil && l.Stage == "train" && l.Split != ""
}

func (w *Watcher) curve(id curveID) *curve {
	c := w.curves[id]
	if c == nil {
		c = &curve{}
		w.curves[id] = c
	}

	return c
}

// refreshCurves reads what trainings report, and histories of those that are done.
func (w *Watcher) refreshCurves(now time.Time) {
	ended := 0
	for _, c := range w.curves {
		switch t := c.task; {
		case t == nil:
		case t.state == "done":
			ended++
		case t.key == "":
			c.clear() // an earlier result's
		default:
			c.readReport(filepath.Join(w.dir, ".cache", "scratch", t.key, engine.ReportFile))
		}
	}

	if ended == w.finished && now.Sub(w.scanned) < scanEvery {
		return
	}

	w.finished, w.scanned = ended, now

	seen := map[curveID]bool{}
	for _, p := range w.published("splits", "*", "seed-*", "history.arrow") {
		seed := path.Dir(p)
		k, err := strconv.Atoi(strings.TrimPrefix(path.Base(seed), "seed-"))
		if err != nil {
			continue
		}

		split := path.Dir(seed)
		id := curveID{path.Dir(path.Dir(split)), path.Base(split), k}
		seen[id] = true
		if c := w.curve(id); c.task == nil || c.task.state == "done" {
			c.readHistory(w.path(p))
		}
	}

	for id, c := range w.curves {
		if c.task == nil && !seen[id] {
			delete(w.curves, id)
		}
	}
}

// published lists results that experiments publish below their folders, by their paths
// with slashes in the work directory. Variants of an experiment are a level deeper.
func (w *Watcher) published(below ...string) (out []string) {
	for _, of := range []string{"*", "*/*"} {
		names, _ := fs.Glob(os.DirFS(w.dir), path.Join(append([]string{of}, below...)...))
		out = append(out, names...)
	}

	return out
}

// path is the place of a file of the work directory.
func (w *Watcher) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (c *curve) clear() { *c = curve{task: c.task} }

// readReport reads what a training has reported so far. A training that was
// interrupted goes back some epochs; the later line of an epoch counts.
func (c *curve) readReport(path string) {
	fi, err := engine.Own(path)
	if err != nil || fi.Size() > 1<<20 {
		if !c.live {
			c.clear()
		}
		return
	}

	if c.stamp == stampOf(path, fi) {
		return
	}

	b, err := engine.ReadOwn(path)
	if err != nil {
		return
	}

	*c = curve{task: c.task, live: true, stamp: stampOf(path, fi)}
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		var l struct {
			Epoch, Of int
			Loss      float64
			HeldOut   *float64 `json:"held_out"`
			Data      string
		}

		if json.Unmarshal(sc.Bytes(), &l) != nil || l.Epoch < 1 {
			continue
		}

		c.loss.add(float64(l.Epoch), l.Loss)

		if l.HeldOut != nil {
			c.held.add(float64(l.Epoch), *l.HeldOut)
		}

		c.of, c.data = l.Of, l.Data
	}
}

// readHistory reads the losses of a finished training. Held-out losses that it
// reported stay where the history has none.
func (c *curve) readHistory(path string) {
	fi, err := engine.Own(path)
	if err != nil || fi.Size() > historySize || c.stamp == stampOf(path, fi) {
		return
	}

	*c = curve{task: c.task, stamp: stampOf(path, fi), held: c.held}

	t, err := table.Read(path)
	if err != nil {
		return
	}

	c.data = t.Get("data")
	var all line

	var held []float64
	for _, col := range t.Columns {
		switch col.Name {
		case "epoch":
			for _, e := range col.Ints {
				all.epoch = append(all.epoch, float64(e))
			}

		case "loss":
			all.value = col.Floats
		case "held_out_loss":
			held = col.Floats
		}
	}

	if n := len(all.epoch); n > 0 && len(all.value) == n {
		c.of, c.loss = int(all.epoch[n-1]), all.thinned()
		if len(held) == n {
			c.held = line{}
			for i, v := range held {
				if !math.IsNaN(v) {
					c.held.add(all.epoch[i], v)
				}
			}

			c.held = c.held.thinned()
		}
	}
}

// verdicts are an experiment's, from metrics.json.
type verdicts struct {
	stamp stamp
	report.Metrics
}

// refreshResults reads the verdicts and looks for the page.
func (w *Watcher) refreshResults() {
	w.report = time.Time{}
	if fi, err := engine.Own(filepath.Join(w.dir, reportFile)); err == nil {
		w.report = fi.ModTime()
	}

	seen := map[string]bool{}
	for _, p := range w.published("report", "metrics.json") {
		fi, err := engine.Own(w.path(p))
		if err != nil || fi.Size() > metricsSize {
			continue
		}

		experiment := path.Dir(path.Dir(p))
		seen[experiment] = true

		stamp := stampOf(p, fi)
		if v := w.verdicts[experiment]; v != nil && v.stamp == stamp {
			continue
		}

		v := &verdicts{stamp: stamp}
		w.verdicts[experiment] = v
		if b, err := engine.ReadOwn(w.path(p)); err == nil {
			_ = json.Unmarshal(b, &v.Metrics) // one that is being written is read later
		}
	}

	for e := range w.verdicts {
		if !seen[e] {
			delete(w.verdicts, e)
		}
	}
}
