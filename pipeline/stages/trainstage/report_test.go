package trainstage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/train"
	"doubletake/train/triplets"
)

// A training of 1000 epochs reports every third of them, on an even choice of the
// held-out rows, and keeps silent about a loss that is no number.
func TestReports(t *testing.T) {
	defer func(d time.Duration) { ReportEvery = d }(ReportEvery)
	ReportEvery = 0
	const n = 10000
	set := triplets.New(make([]triplets.Quantity, 1), make([]triplets.Quantity, 1), make([]float64, n), make([]float64, n),
		make([]float64, n))
	set.Part = make([]triplets.Part, n)
	for i := range n {
		set.X[i] = float64(i)
		if i%2 == 1 {
			set.Part[i] = triplets.Test
		}
	}
	var file []byte
	task := &engine.Task{ID: "t", Stage: "train", Run: func(_ context.Context, j *engine.Job) error {
		o := reports(j, set, 1000)
		if x := o.HeldOut.X; len(x) != reportRows || x[0] != 1 || x[reportRows-1] < n-5 {
			t.Errorf("%d held-out rows, from %g to %g", len(x), x[0], x[len(x)-1])
		}
		for _, x := range o.HeldOut.X {
			if math.Mod(x, 2) != 1 {
				t.Fatalf("row %g is not held out", x)
			}
		}
		for e := 1; e <= 1000; e++ {
			held := 2 / float64(e)
			if e == 6 {
				held = math.Inf(1)
			}
			o.Watch(train.Epoch{Epoch: e, Loss: 1 / float64(e)}, func() float64 { return held })
		}
		dir, err := j.Scratch()
		if err == nil {
			file, err = os.ReadFile(filepath.Join(dir, engine.ReportFile))
		}
		return err
	}}
	p := &engine.Plan{Dir: t.TempDir(), Stages: []string{"train"}, Tasks: []*engine.Task{task}}
	if _, err := engine.Run(t.Context(), p, engine.Options{Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for sc := bufio.NewScanner(bytes.NewReader(file)); sc.Scan(); {
		lines++
		var r epochReport
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Epoch != 3*lines || r.Of != 1000 || r.Loss != 1/float64(r.Epoch) ||
			(r.HeldOut == nil) != (r.Epoch == 6) || r.HeldOut != nil && *r.HeldOut != 2*r.Loss {
			t.Errorf("line %d: %s", lines, sc.Bytes())
		}
	}
	if lines != 333 || len(file) > 64<<10 {
		t.Errorf("%d lines, %d bytes", lines, len(file))
	}
}
