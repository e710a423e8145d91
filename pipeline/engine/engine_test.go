package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"doubletake/pipeline/kv"
	"doubletake/pipeline/pack"

	"pgregory.net/rapid"
)

// world is a small project of the tests' own: files are read, upper-cased
// ("read"), counted per file ("count", with a setting), joined ("join") and
// judged per seed ("fit"). Nothing in it is of the program's domain.
type world struct {
	dir     string            // work directory
	raw     string            // folder of raw files
	files   map[string]string // content by name
	config  map[string]string // settings of count and fit
	version int               // of the count stage
	seeds   int

	mu  sync.Mutex
	ran []string
}

func newWorld(dir string) *world {
	w := &world{
		dir: filepath.Join(dir, "work"), raw: filepath.Join(dir, "raw"), version: 1, seeds: 2,
		files:  map[string]string{"a": "alpha", "b": "beta", "c": "gamma"},
		config: map[string]string{"count.letter": "a", "fit.rate": "1"},
	}

	return w
}

func (w *world) write(t interface{ Fatal(...any) }) {
	if err := os.MkdirAll(w.raw, 0o755); err != nil {
		t.Fatal(err)
	}

	old, _ := os.ReadDir(w.raw)
	for _, e := range old {
		if _, ok := w.files[e.Name()]; !ok {
			os.Remove(filepath.Join(w.raw, e.Name()))
		}
	}

	for n, c := range w.files {
		p := filepath.Join(w.raw, n)
		if b, err := os.ReadFile(p); err != nil || string(b) != c {
			if err := os.WriteFile(p, []byte(c), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (w *world) section(prefix string) []kv.Pair {
	var out []kv.Pair
	for k, v := range w.config {
		if strings.HasPrefix(k, prefix+".") {
			out = append(out, kv.Pair{Key: k, Value: v})
		}
	}

	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })

	return out
}

func (w *world) names() []string {
	var n []string
	for k := range w.files {
		n = append(n, k)
	}

	sort.Strings(n)

	return n
}

func text(kvs []kv.Pair) string {
	var s []string
	for _, kv := range kvs {
		s = append(s, kv.Key+"="+kv.Value)
	}

	return strings.Join(s, ",")
}

// plan makes the tasks; wants holds, by plain functions of the contents, the
// expected output of each task, and signs its sources.
func (w *world) plan() *Plan {
	p := &Plan{Dir: w.dir, Stages: []string{"read", "count", "join", "fit"}}
	add := func(t *Task, body func(j *Job) (string, error)) {
		run := func(_ context.Context, j *Job) error {
			w.mu.Lock()
			w.ran = append(w.ran, t.ID)
			w.mu.Unlock()

			s, err := body(j)
			if err != nil {
				return err
			}

			return put(j, "out", s)
		}

		t.Run = run
		p.Tasks = append(p.Tasks, t)
	}

	in := func(j *Job, id string) (string, error) {
		b, err := pack.ReadFile(j.Input(id, "out"))
		return string(b), err
	}

	var counts []Dep
	for _, n := range w.names() {
		read := "read/" + n
		add(&Task{ID: read, Stage: "read", Version: 1, Files: []File{{n, filepath.Join(w.raw, n)}}},
			func(*Job) (string, error) {
				b, err := os.ReadFile(filepath.Join(w.raw, n))
				return strings.ToUpper(string(b)), err
			})

		add(&Task{
			ID: "count/" + n, Stage: "count", Version: w.version, Config: w.section("count"),
			Deps: []Dep{{read, "out"}}, Packed: true,
		}, func(j *Job) (string, error) {
			s, err := in(j, read)
			return fmt.Sprintf("%s:%d:v%d", text(w.section("count")), len(s), w.version), err
		})

		counts = append(counts, Dep{"count/" + n, "out"})
	}

	add(&Task{ID: "join", Stage: "join", Version: 1, Deps: counts, Publish: []Link{{"out", "all/joined"}}},
		func(j *Job) (string, error) {
			var all []string
			for _, c := range counts {
				s, err := in(j, c.Task)
				if err != nil {
					return "", err
				}

				all = append(all, s)
			}

			return strings.Join(all, "\n"), nil
		})

	for k := range w.seeds {
		add(&Task{
			ID: fmt.Sprintf("fit/%d", k), Stage: "fit", Split: "s", Version: 1, Config: w.section("fit"),
			Local: []kv.Pair{{Key: "seed", Value: fmt.Sprint(k)}},
			Deps:  []Dep{{"join", "out"}}, Publish: []Link{{"out", fmt.Sprintf("fits/%d", k)}},
		}, func(j *Job) (string, error) {
			s, err := in(j, "join")
			return fmt.Sprintf("%s|seed %d|%s", text(w.section("fit")), k, s), err
		})
	}

	return p
}

// oracle computes, without the engine, every task's output and a signature of
// all it is made of (contents, not hashes).
func (w *world) oracle() (outputs, signs map[string]string) {
	outputs, signs = map[string]string{}, map[string]string{}

	var joined, joinSign []string
	for _, n := range w.names() {
		up := strings.ToUpper(w.files[n])
		outputs["read/"+n], signs["read/"+n] = up, n+"\x00"+w.files[n]
		cfg := text(w.section("count"))
		out := fmt.Sprintf("%s:%d:v%d", cfg, len(up), w.version)
		outputs["count/"+n], signs["count/"+n] = out, fmt.Sprint(w.version, "\x00", cfg, "\x00", n, up)
		joined, joinSign = append(joined, out), append(joinSign, n+"="+out)
	}

	j := strings.Join(joined, "\n")
	outputs["join"], signs["join"] = j, strings.Join(joinSign, "\x00")
	for k := range w.seeds {
		id := fmt.Sprintf("fit/%d", k)
		outputs[id] = fmt.Sprintf("%s|seed %d|%s", text(w.section("fit")), k, j)
		signs[id] = fmt.Sprint(k, "\x00", text(w.section("fit")), "\x00", j)
	}

	return outputs, signs
}

func (w *world) run(o Options) (*Result, error) {
	w.ran = nil
	r, err := Run(context.Background(), w.plan(), o)
	sort.Strings(w.ran)
	return r, err
}

// After any sequence of edits exactly the tasks whose ingredients were never
// seen before run, and every output is what a run from scratch would give.
func TestRandomEdits(t *testing.T) {
	if os.Getenv("DOUBLETAKE_LONG") == "" {
		flag.Set("rapid.checks", "25")
		durableAtOnce(t) // TestPowerCut and the long run sync files
	}

	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "engine")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := newWorld(dir)

		seen := map[string]bool{}
		for step := range rapid.IntRange(2, 6).Draw(rt, "steps") {
			if step > 0 {
				switch rapid.IntRange(0, 8).Draw(rt, "edit") {
				case 0: // change a file
					w.files[rapid.SampledFrom(w.names()).Draw(rt, "file")] = rapid.SampledFrom([]string{
						"x", "alpha", "ALPHA",
						"longer text",
					}).Draw(rt, "content")

				case 1: // touch a file
					n := rapid.SampledFrom(w.names()).Draw(rt, "file")
					now := time.Now().Add(time.Hour)
					os.Chtimes(filepath.Join(w.raw, n), now, now)

				case 2: // change a setting
					w.config["count.letter"] = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "letter")
				case 3: // another key appears or goes
					if _, ok := w.config["fit.decay"]; ok {
						delete(w.config, "fit.decay")
					} else {
						w.config["fit.decay"] = "0"
					}

				case 4: // add a file
					w.files[fmt.Sprintf("n%d", step)] = "new"
				case 5: // remove one
					if len(w.files) > 1 {
						delete(w.files, w.names()[0])
					}

				case 6: // the stage's code changes
					w.version++
				case 7: // one more seed
					w.seeds++
				case 8: // the index is lost
					os.Remove(filepath.Join(w.dir, ".cache", "index"))
				}
			}

			w.write(rt)
			outputs, signs := w.oracle()

			var want []string
			for id, s := range signs {
				if !seen[id+"\x00"+s] {
					want = append(want, id)
				}
				seen[id+"\x00"+s] = true
			}

			sort.Strings(want)

			if _, err := w.run(Options{Jobs: rapid.IntRange(1, 4).Draw(rt, "jobs")}); err != nil {
				rt.Fatal(err)
			}

			if !slices.Equal(w.ran, want) {
				rt.Fatalf("step %d ran %v, expected %v", step, w.ran, want)
			}

			for id, path := range map[string]string{"join": "all/joined", "fit/0": "fits/0", "fit/1": "fits/1"} {
				if b, err := os.ReadFile(filepath.Join(w.dir, path)); err != nil || string(b) != outputs[id] {
					rt.Fatalf("step %d: %s holds %q (%v), expected %q", step, path, b, err, outputs[id])
				}
			}
		}
	})
}

// The reasons name the key, file or version that changed, as old → new.
func TestReasons(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)

	if _, err := w.run(Options{}); err != nil {
		t.Fatal(err)
	}

	reasons := func() string {
		list, err := Assess(w.plan())
		if err != nil {
			t.Fatal(err)
		}

		var out []string
		for _, s := range list {
			if s.State != UpToDate {
				for _, r := range s.Reasons {
					out = append(out, s.Task.ID+": "+r.String())
				}
			}
		}

		return strings.Join(out, "\n")
	}

	if got := reasons(); got != "" {
		t.Fatalf("just made, yet stale:\n%s", got)
	}

	w.config["count.letter"] = "z"
	delete(w.config, "fit.rate")
	want := `count/a: count.letter: a → z
count/b: count.letter: a → z
count/c: count.letter: a → z
join: count/a must run first
join: count/b must run first
join: count/c must run first
fit/0: fit.rate: 1 → none
fit/0: join must run first
fit/1: fit.rate: 1 → none
fit/1: join must run first`

	if got := reasons(); got != want {
		t.Errorf("got:\n%s\nexpected:\n%s", got, want)
	}

	w.config = map[string]string{"count.letter": "a", "fit.rate": "1"}
	w.version = 2

	if got := reasons(); !strings.HasPrefix(got, "count/a: the program's count stage changed: version 1 → 2\n") {
		t.Errorf("got:\n%s", got)
	}

	w.version = 1
	w.files["b"] = "other"
	w.write(t)

	// Digests from sha256sum of "beta" and "other".
	if got := reasons(); !strings.HasPrefix(got, "read/b: b changed: f44e64e7 → d9298a10\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestPartialRuns(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)

	var lack *NotReadyError
	if _, err := w.run(Options{Selection: Selection{Stages: []string{"fit"}}}); !errors.As(err, &lack) ||
		lack.Needs.Task.ID != "join" {
		t.Fatalf("fit without join: %v", err)
	}

	if len(w.ran) != 0 {
		t.Errorf("a refused run ran %v", w.ran)
	}

	if _, err := w.run(Options{Selection: Selection{To: "count"}}); err != nil || len(w.ran) != 6 {
		t.Fatalf("up to count: %v, ran %v", err, w.ran)
	}

	if _, err := w.run(Options{Selection: Selection{From: "join"}}); err != nil ||
		!slices.Equal(w.ran, []string{"fit/0", "fit/1", "join"}) {
		t.Fatalf("from join: %v, ran %v", err, w.ran)
	}

	if _, err := w.run(Options{Selection: Selection{Stages: []string{"fit"}, Force: true}}); err != nil ||
		!slices.Equal(w.ran, []string{"fit/0", "fit/1"}) {
		t.Fatalf("forced: %v, ran %v", err, w.ran)
	}

	if _, err := w.run(Options{}); err != nil || len(w.ran) != 0 {
		t.Fatalf("after forcing: %v, ran %v", err, w.ran)
	}
}

// A change that keeps a file's size and time is found where everything is hashed.
func TestVerify(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)
	past := time.Now().Add(-time.Hour)
	age := func(p string) {
		if err := os.Chtimes(p, past, past); err != nil {
			t.Fatal(err)
		}
	}

	for _, n := range w.names() {
		age(filepath.Join(w.raw, n))
	}

	if _, err := w.run(Options{}); err != nil {
		t.Fatal(err)
	}

	w.files["a"] = "aaaaa"
	w.write(t)
	age(filepath.Join(w.raw, "a"))

	if _, err := w.run(Options{}); err != nil || len(w.ran) != 0 {
		t.Fatalf("%v, ran %v", err, w.ran)
	}

	if _, err := w.run(Options{Selection: Selection{Verify: true}}); err != nil || !slices.Contains(w.ran, "read/a") ||
		slices.Contains(w.ran, "read/b") {
		t.Fatalf("verified: %v, ran %v", err, w.ran)
	}

	// So is a result that was changed in place.
	res, err := w.run(Options{})
	if err != nil || len(w.ran) != 0 {
		t.Fatalf("%v, ran %v", err, w.ran)
	}

	for _, task := range []string{"join", "fit/0", "fit/1"} {
		out, ok := res.Output(task, "out")
		st, err := os.Stat(out)
		if !ok || err != nil {
			t.Fatal(out, err)
		}

		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}

		b[0] ^= 1
		err = errors.Join(os.Chmod(out, 0o644), os.WriteFile(out, b, 0o644), os.Chtimes(out, st.ModTime(), st.ModTime()))
		if err != nil {
			t.Fatal(err)
		}
	}

	// The index is written while some are not made again yet.
	every := saveEvery
	saveEvery = 0
	t.Cleanup(func() { saveEvery = every })

	if _, err := w.run(Options{Selection: Selection{Verify: true}}); err != nil ||
		!slices.Equal(w.ran, []string{"fit/0", "fit/1", "join"}) {
		t.Fatalf("a changed result: %v, ran %v", err, w.ran)
	}
}

// Raw files are hashed when the turn of their tasks comes, and the tasks of one
// file follow each other, so that a file of a large campaign is read from the disk
// once. The order is by the rule itself: whatever the work behind the others.
func TestReadLater(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)

	for _, n := range w.names() { // of a file that was just written no hash is kept
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(w.raw, n), past, past); err != nil {
			t.Fatal(err)
		}
	}

	plan := func() *Plan {
		p := w.plan()
		for _, u := range p.Tasks {
			u.Weight = 1
			if n, ok := strings.CutPrefix(u.ID, "count/"); ok {
				u.Files = []File{{n, filepath.Join(w.raw, n)}}
			}
		}

		return p
	}

	for _, c := range []struct {
		name string
		o    Options
		want int // files hashed before the run begins
	}{
		{"all", Options{}, 0},
		{"here", Options{Executor: Local{2}}, 0},
		{"elsewhere", Options{Executor: &elsewhere{}}, 3},
		{"part, from a task that is not part of it", Options{Selection: Selection{From: "count"}}, 3},
		{"up to a stage", Options{Selection: Selection{To: "count"}}, 0},
	} {
		p := plan()
		s := openStore(w.dir)
		list, _, err := s.assessAll(p, s.readLater(p, c.o))
		if err != nil || len(s.ix.Files) != c.want {
			t.Errorf("%s: hashed %d files (%v), expected %d", c.name, len(s.ix.Files), err, c.want)
		}

		if because := list[0].Because(); c.want == 0 && (list[0].State != Missing || because != "a was not read yet") {
			t.Errorf("%s: %s is %s: %s", c.name, list[0].Task.ID, list[0].State, because)
		}
	}

	var order []string
	see := func(e Event) {
		if e.Kind == "start" {
			order = append(order, e.Task.ID)
		}
	}

	if _, err := Run(context.Background(), plan(), Options{Jobs: 1, Observe: see}); err != nil {
		t.Fatal(err)
	}

	if want := []string{
		"read/a", "count/a", "read/b", "count/b", "read/c", "count/c", "join", "fit/0",
		"fit/1",
	}; !slices.Equal(order, want) {
		t.Errorf("order %v, expected %v", order, want)
	}

	// Without the index nothing is known of the files, but all results are there:
	// parts are not refused, and nothing is made again.
	for _, sel := range []Selection{{Stages: []string{"fit"}}, {Stages: []string{"read", "join"}}, {}} {
		os.Remove(filepath.Join(w.dir, ".cache", "index"))

		order = nil
		if res, err := Run(context.Background(), plan(), Options{Jobs: 2, Selection: sel, Observe: see}); err != nil ||
			len(order) > 0 || res.Ran > 0 {
			t.Errorf("%v without the index: %v, made %v", sel.Stages, err, order)
		}
	}

	// An unreadable file is reported before anything is made.
	os.RemoveAll(w.dir)
	os.Remove(filepath.Join(w.raw, "c"))
	os.Mkdir(filepath.Join(w.raw, "c"), 0o755)
	order = nil

	var fe *FileError
	if _, err := Run(context.Background(), plan(), Options{Jobs: 2, Observe: see}); !errors.As(err, &fe) ||
		fe.Path != "c" || len(order) > 0 {
		t.Errorf("a folder among the files: %v, after %v", err, order)
	}
}

// elsewhere is an executor of other processes; here it only makes the tasks.
type elsewhere struct{ Local }

// Tasks that come to the same file at a time wait for one of them to hash it.
func TestHashOnce(t *testing.T) {
	dir := t.TempDir()
	f := File{"big", filepath.Join(dir, "big")}
	if err := os.WriteFile(f.Open, bytes.Repeat([]byte("0123456789abcdef"), 1<<18), 0o644); err != nil {
		t.Fatal(err)
	}

	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(f.Open, old, old); err != nil {
		t.Fatal(err)
	}

	s := openStore(dir)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			x, err := s.hash(f, false)

			// From: for i in $(seq 262144); do printf 0123456789abcdef; done | sha256sum
			if err != nil || x.stamp.Size != 1<<22 ||
				x.sum != "3cab7815c40973b8fb036c7a2a69b3649882622a4a0a2f1a980efa4ef8545577" {
				t.Errorf("%+v, %v", x, err)
			}
		})
	}

	wg.Wait()

	if len(s.hashing) > 0 || len(s.ix.Files) != 1 {
		t.Errorf("%d still being hashed, %d known", len(s.hashing), len(s.ix.Files))
	}
}

// A task is given the contents of its raw file, as they were hashed; of a large file, and of
// one that was hashed before, none. Expected values: crypto/sha256.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir)

	for _, size := range []int{0, 1, 1<<18 - 1, 1 << 18, 1<<18 + 1, 400_000, holdBytes, holdBytes + 1} {
		f := File{"raw", filepath.Join(dir, fmt.Sprint(size))}
		b := bytes.Repeat([]byte{byte(size), 7, byte(size >> 8)}, size/3+1)[:size]
		then := time.Now().Add(-time.Hour)

		if err := errors.Join(os.WriteFile(f.Open, b, 0o644), os.Chtimes(f.Open, then, then)); err != nil {
			t.Fatal(err)
		}

		x, err := s.hash(f, true)
		if err != nil || x.sum != fmt.Sprintf("%x", sha256.Sum256(b)) {
			t.Fatalf("%d bytes: %s, %v", size, x.sum, err)
		}

		if size > holdBytes {
			if x.held != nil {
				t.Errorf("the contents of %d bytes are kept", size)
			}
			continue
		}

		j := &Job{held: []hashed{x}}
		if !bytes.Equal(j.Held("raw"), b) || j.Held("other") != nil {
			t.Errorf("%d bytes: the contents are %d others", size, len(j.Held("raw")))
		}

		x.release()

		if again, err := s.hash(f, true); err != nil || again.held != nil || again.sum != x.sum {
			t.Errorf("%d bytes, hashed again: %+v, %v", size, again, err)
		}
	}
}

// A damaged result is noticed, named and made again; the same for a lost one.
func TestDamage(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)

	if _, err := w.run(Options{}); err != nil {
		t.Fatal(err)
	}

	joined := filepath.Join(w.dir, "all", "joined")
	want, _ := os.ReadFile(joined)
	for name, damage := range map[string]func(p string){
		"changed": func(p string) { os.WriteFile(p, []byte("other"), 0o644) },
		"cut":     func(p string) { os.Truncate(p, 1) },
		"gone":    func(p string) { os.Remove(p) },
	} {
		objects, _ := filepath.Glob(filepath.Join(w.dir, ".cache", "objects", "*", "*", "out"))

		var target string
		for _, o := range objects {
			if b, _ := os.ReadFile(o); string(b) == string(want) {
				target = o
			}
		}

		if target == "" {
			t.Fatal("no object holds the joined file")
		}

		os.Chmod(target, 0o644)
		damage(target)

		list, err := Assess(w.plan())
		if err != nil {
			t.Fatal(err)
		}

		i := slices.IndexFunc(list, func(s *Status) bool { return s.Task.ID == "join" })
		if list[i].State != Stale || list[i].Reasons[0].Kind != "damaged" ||
			!strings.Contains(list[i].Reasons[0].Name, "out") {
			t.Errorf("%s: %s %v", name, list[i].State, list[i].Reasons)
		}

		if _, err := w.run(Options{}); err != nil || !slices.Equal(w.ran, []string{"join"}) {
			t.Errorf("%s: %v, ran %v, expected join alone", name, err, w.ran)
		}

		if b, _ := os.ReadFile(joined); string(b) != string(want) {
			t.Errorf("%s: %q, expected %q", name, b, want)
		}
	}
}

// A damaged pack is noticed and made again, and a lost index is made again from packs.
func TestDamagedPack(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)

	if _, err := w.run(Options{}); err != nil {
		t.Fatal(err)
	}

	list, err := Assess(w.plan())
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(list, func(s *Status) bool { return s.Task.ID == "count/a" })
	at := filepath.Join(w.dir, ".cache", "objects", list[i].key[:1], list[i].key)
	whole, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}

	other := bytes.Clone(whole)
	other[len(other)-1] ^= 1

	for name, c := range map[string]struct {
		data []byte // nil: no file
		ran  []string
	}{
		"another byte": {other, []string{"count/a"}},
		"cut":          {whole[:len(whole)-1], []string{"count/a"}},
		"empty":        {[]byte{}, []string{"count/a"}},
		"gone":         {nil, []string{"count/a"}},
		"index gone":   {whole, nil},
	} {
		if c.data == nil || c.ran == nil {
			gone := at
			if c.ran == nil {
				gone = filepath.Join(w.dir, ".cache", "index")
			}

			if err := os.Remove(gone); err != nil {
				t.Fatal(err)
			}
		} else {
			os.Chmod(at, 0o644)
			if err := os.WriteFile(at, c.data, 0o644); err != nil {
				t.Fatal(err)
			}
		}

		if list, err = Assess(w.plan()); err != nil {
			t.Fatal(err)
		}

		if damaged := list[i].State == Stale && list[i].Reasons[0].Kind == "damaged"; damaged != (c.ran != nil) {
			t.Errorf("%s: %s %v", name, list[i].State, list[i].Reasons)
		}

		if _, err := w.run(Options{}); err != nil || !slices.Equal(w.ran, c.ran) {
			t.Errorf("%s: %v, ran %v, expected %v", name, err, w.ran, c.ran)
		}

		b, err := pack.ReadFile(filepath.Join(at, "out"))
		if err != nil || !bytes.HasSuffix(whole, b) || len(b) == 0 {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

func put(j *Job, output, text string) error {
	w, err := j.Create(output)
	if err != nil {
		return err
	}

	_, err = io.WriteString(w, text)

	return errors.Join(err, w.Close())
}

func TestFailures(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)
	boom := errors.New("boom")
	plan := func() *Plan {
		p := w.plan()
		i := slices.IndexFunc(p.Tasks, func(t *Task) bool { return t.ID == "count/b" })
		p.Tasks[i].Run = func(_ context.Context, j *Job) error {
			return errors.Join(put(j, "half", "half done"), boom)
		}

		return p
	}

	res, err := Run(context.Background(), plan(), Options{KeepGoing: true})

	var te *TaskError
	if !errors.Is(err, boom) || !errors.As(err, &te) || te.Task.ID != "count/b" || !errors.Is(err, ErrFailed) {
		t.Fatalf("error %v", err)
	}

	if res.Ran != 5 { // three reads, two counts
		t.Errorf("kept going for %d tasks, expected 5", res.Ran)
	}

	if _, err := os.Stat(filepath.Join(w.dir, "all")); err == nil {
		t.Error("something was published after a failure before it")
	}

	left, _ := filepath.Glob(filepath.Join(w.dir, ".cache", "tmp", "*"))

	half, _ := filepath.Glob(filepath.Join(w.dir, ".cache", "objects", "*", "*", "half"))
	if len(left)+len(half) > 0 {
		t.Errorf("partial output stays: %v %v", left, half)
	}

	// A raw file that changes while its task runs spoils the result.
	p := w.plan()
	i := slices.IndexFunc(p.Tasks, func(t *Task) bool { return t.ID == "read/a" })
	was := p.Tasks[i].Run
	p.Tasks[i].Run = func(ctx context.Context, j *Job) error {
		defer os.WriteFile(filepath.Join(w.raw, "a"), []byte("changed meanwhile"), 0o644)
		return was(ctx, j)
	}

	var fe *FileError
	if _, err := Run(context.Background(), p,
		Options{Selection: Selection{Stages: []string{"read"}, Force: true}}); !errors.As(err, &fe) || fe.Path != "a" {
		t.Errorf("a file changed while it was read: %v", err)
	}

	os.Remove(filepath.Join(w.raw, "a"))

	if _, err := w.run(Options{}); !errors.As(err, &fe) || fe.Path != "a" {
		t.Errorf("a missing file: %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)
	ctx, cancel := context.WithCancel(context.Background())
	p := w.plan()
	i := slices.IndexFunc(p.Tasks, func(t *Task) bool { return t.ID == "join" })
	p.Tasks[i].Run = func(ctx context.Context, _ *Job) error { cancel(); <-ctx.Done(); return ctx.Err() }
	if _, err := Run(ctx, p, Options{Jobs: 2}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}

	if _, err := w.run(Options{}); err != nil || !slices.Equal(w.ran, []string{"fit/0", "fit/1", "join"}) {
		t.Errorf("after an interrupt: %v, ran %v", err, w.ran)
	}
}

// The lock is free once it is given back, even while a child process that is
// just being started still holds a copy of the open file; dup makes one.
func TestLockOfChild(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}

	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}

	copied := -1
	for _, e := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == filepath.Join(dir, ".lock") {
			fd, _ := strconv.Atoi(e.Name())
			if copied, err = syscall.Dup(fd); err != nil {
				t.Fatal(err)
			}
		}
	}

	if copied < 0 {
		t.Fatal("the lock is no open file")
	}

	defer syscall.Close(copied)

	if _, err := lock(dir); err == nil {
		t.Error("it is held twice")
	}

	unlock()

	if unlock, err = lock(dir); err != nil {
		t.Fatal(err)
	}

	unlock()
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}

	var le *LockedError
	if _, err := lock(dir); !errors.As(err, &le) || !strings.Contains(le.Holder, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("second lock: %v", err)
	}

	unlock()

	unlock, err = lock(dir)
	if err != nil {
		t.Fatalf("after unlocking: %v", err)
	}

	unlock()

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}

	var we *WorkdirError
	if _, err := lock(filepath.Join(file, "runs")); !errors.As(err, &we) {
		t.Errorf("a workdir below a file: %v", err)
	}
}

// The engine imports the standard library, the key-value pair and packs of files, which
// import nothing of the project: it must not know microphones, networks or configuration files.
func TestImports(t *testing.T) {
	p, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}

	for _, i := range p.Imports {
		room := strings.TrimPrefix(i, "doubletake/pipeline/")
		if slices.Contains([]string{"kv", "pack"}, room) || strings.HasPrefix(i, "golang.org/x/sys/") {
			continue
		}

		if strings.Contains(strings.SplitN(i, "/", 2)[0], ".") || strings.HasPrefix(i, "doubletake/") {
			t.Errorf("the engine imports %s; it may import the standard library, x/sys, pipeline/kv and pack", i)
		}
	}
}

func TestPlanFaults(t *testing.T) {
	run := func(context.Context, *Job) error { return nil }
	for _, p := range []*Plan{
		{Tasks: []*Task{{ID: "a", Run: run}, {ID: "a", Run: run}}},
		{Tasks: []*Task{{ID: "a", Run: run, Deps: []Dep{{"b", "out"}}}, {ID: "b", Run: run}}},
	} {
		if p.Check() == nil {
			t.Errorf("plan %v was accepted", p.Tasks)
		}
	}
}

// What a task keeps in its scratch folder is there when it runs again after an
// interrupt, and gone when its result is sealed.
func TestScratch(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)
	var found []string
	attempt := func() error {
		p := w.plan()
		i := slices.IndexFunc(p.Tasks, func(t *Task) bool { return t.ID == "join" })
		was := p.Tasks[i].Run
		p.Tasks[i].Run = func(ctx context.Context, j *Job) error {
			d, err := j.Scratch()
			if err != nil {
				return err
			}

			b, err := os.ReadFile(filepath.Join(d, "state"))
			if err != nil {
				os.WriteFile(filepath.Join(d, "state"), []byte("half way"), 0o644)
				return errors.New("stopped half way")
			}

			found = append(found, string(b))

			return was(ctx, j)
		}

		_, err := Run(context.Background(), p, Options{})

		return err
	}

	if attempt() == nil {
		t.Fatal("the first attempt was to stop")
	}

	if err := attempt(); err != nil || !slices.Equal(found, []string{"half way"}) {
		t.Errorf("second attempt: %v, found %q", err, found)
	}

	if _, err := os.Stat(filepath.Join(w.dir, ".cache", "scratch")); err == nil {
		t.Error("scratch stays after success")
	}

	// The index lists a result that somebody removed: its new checkpoint is none of it.
	s := openStore(w.dir)
	if err := os.RemoveAll(s.object(s.ix.Tasks["join"].Key)); err != nil {
		t.Fatal(err)
	}

	if attempt() == nil {
		t.Fatal("the third attempt was to stop")
	}

	if err := attempt(); err != nil || len(found) != 2 {
		t.Errorf("fourth attempt: %v, found %q", err, found)
	}
}

// A disk that fails to write says so once. The run fails, and what was being written is
// made again, although the next sync would succeed. Results that could not be synced for
// another reason are neither listed nor removed.
func TestFailingDisk(t *testing.T) {
	before := disk
	t.Cleanup(func() { disk = before })

	for _, c := range []struct {
		err  error
		lost bool
	}{
		{syscall.EIO, true},
		{syscall.ENODATA, true}, // a bad place of the disk
		{syscall.ETIMEDOUT, true},
		{syscall.EMFILE, false},
		{syscall.EINVAL, false},
	} {
		w := newWorld(t.TempDir())
		w.write(t)
		failed := false
		fail := func(path string) error {
			if failed || !strings.Contains(path, "objects") {
				return nil
			}

			failed = true

			return c.err
		}

		disk.file = func(f *os.File) error { return fail(f.Name()) }
		disk.all = fail

		if _, err := w.run(Options{Jobs: 1, KeepGoing: true}); !errors.Is(err, c.err) {
			t.Fatalf("%v, want %v", err, c.err)
		}

		if _, err := os.Stat(filepath.Join(w.dir, ".cache", "index")); err == nil {
			t.Errorf("%v: there is an index of results that were not written", c.err)
		}

		first := w.ran[0]

		res, err := w.run(Options{Jobs: 1})
		if err != nil || slices.Contains(w.ran, first) != c.lost {
			t.Errorf("%v: the next run: %v, %+v; it made %v", c.err, err, res, w.ran)
		}
	}
}

// Collecting keeps what the current files refer to, and nothing else.
func TestCollect(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)

	if _, err := w.run(Options{}); err != nil {
		t.Fatal(err)
	}

	w.files["a"] = "changed" // seven letters for five: its count, the join and both fits change with it
	w.config["fit.rate"] = "2"
	w.write(t)

	if _, err := w.run(Options{}); err != nil {
		t.Fatal(err)
	}

	tasks := func(list []Garbage) (ids []string) {
		for _, g := range list {
			ids = append(ids, g.Task)
		}

		sort.Strings(ids)

		return ids
	}

	want := []string{"count/a", "fit/0", "fit/1", "join", "read/a"}

	list, err := Collect(w.plan(), false)
	if err != nil || !slices.Equal(tasks(list), want) {
		t.Fatalf("preview: %v, %v, expected %v", err, tasks(list), want)
	}

	for _, g := range list {
		if g.Bytes == 0 {
			t.Errorf("%s has no size", g.Task)
		}
	}

	if _, err := Collect(w.plan(), true); err != nil {
		t.Fatal(err)
	}

	if list, err = Collect(w.plan(), false); err != nil || len(list) != 0 {
		t.Errorf("after collecting: %v, %v", err, tasks(list))
	}

	if _, err := w.run(Options{}); err != nil || len(w.ran) != 0 {
		t.Errorf("collecting took something that is needed: %v, ran %v", err, w.ran)
	}
}

func decode(ix *index, b []byte) error { return ix.decode(string(b)) }

// The index comes back as it was written, and a damaged one is noticed.
func TestIndex(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	inputs := []input{{"f → out", "d1"}, {"f", sum}}
	outputs := []output{
		{"out", 12, "s1", ""}, {"a", 1, sum, ""}, {"c", 2, strings.ToUpper(sum), "→"}, {"b", 0, "s2", "d2"},
	}
	ix := index{
		Configs: map[string][]kv.Pair{"c1": {{Key: "a.b", Value: "1"}, {Key: "a.c", Value: ""}}, "c2": nil},
		Tasks: map[string]*record{
			"x/y": {
				Key: "k", Version: 3, Config: "c1", Local: []kv.Pair{{Key: "seed", Value: "0"}}, Inputs: inputs,
				Outputs: outputs, Stamps: []stamp{{12, -5, 7}, {0, 1 << 60, 8}},
				Seconds: 0.25, Packed: true,
			},
			"z": {},
		},
		Files: map[string]fileRecord{"päth": {Stamp: stamp{1, 2, 3}, SHA256: "s3"}},
	}

	b := ix.encode()

	var got index
	if err := decode(&got, b); err != nil {
		t.Fatal(err)
	}

	for _, r := range got.Tasks {
		r.Inputs, r.packed = r.inputs(), packedInputs{}
	}

	if !reflect.DeepEqual(ix, got) {
		t.Errorf("came back as %+v, expected %+v", got, ix)
	}

	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x41
		if decode(&got, c) == nil || decode(&got, b[:i]) == nil {
			t.Fatalf("a change or cut at byte %d went unnoticed", i)
		}
	}
}

// Whatever the bytes, decoding ends without a panic; with a right checksum too.
func FuzzIndex(f *testing.F) {
	ix := index{Tasks: map[string]*record{"t": {Outputs: []output{{"o", 1, "s", "d"}}, Stamps: []stamp{{1, 2, 3}}}}}
	f.Add(ix.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		var got index
		decode(&got, b)
		b = append([]byte(indexMagic), b...)
		decode(&got, binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
	})
}

func TestBecause(t *testing.T) {
	gone := func(n int) (out []Reason) {
		for i := range n {
			out = append(out, Reason{Kind: "gone", Name: string(rune('a' + i))})
		}
		return out
	}

	for n, want := range map[int]int{1: 0, 5: 0, 6: 2, 40: 36} {
		s := Status{Reasons: append(gone(n), Reason{Kind: "upstream", Name: "u"})}
		got, more := s.Because(), fmt.Sprintf("; and %d more reasons; u must run first", want)
		if want == 0 && strings.Contains(got, "more reasons") || want > 0 && !strings.HasSuffix(got, more) {
			t.Errorf("%d reasons: %s", n, got)
		}
	}
}
