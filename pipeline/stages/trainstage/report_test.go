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

// A training of 1000 epochs over 5000 rows takes the loss of 4096 of the 5000 held-out
// rows, evenly chosen, every 17th epoch: 20 · 4096 rows are trained on in 16.4. One of 30 takes it ten times. It
// reports these, and keeps silent about a loss that is no number.
func TestObserved(t *testing.T) {
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

	if o := observed(nil, set, 30, ""); o.HeldOutEvery != 3 {
		t.Errorf("a training of 30 epochs takes the loss every %d", o.HeldOutEvery)
	}

	var file []byte
	task := &engine.Task{ID: "t", Stage: "train", Run: func(_ context.Context, j *engine.Job) error {
		o := observed(j, set, 1000, "measured")
		x := o.HeldOut.X
		if len(x) != heldOutRows || x[0] != 1 || x[heldOutRows-1] < n-5 || o.HeldOutEvery != 17 {
			t.Errorf("%d held-out rows, from %g to %g, every %d epochs", len(x), x[0], x[len(x)-1], o.HeldOutEvery)
		}

		for _, x := range x {
			if math.Mod(x, 2) != 1 {
				t.Fatalf("row %g is not held out", x)
			}
		}

		for e := 1; e <= 1000; e++ {
			r := train.Epoch{Epoch: e, Loss: 1 / float64(e)}
			if e != 34 {
				r.HeldOut, r.Judged = 2*r.Loss, true
			}

			o.Hook(r)
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

		if r.Epoch != 17*lines || r.Data != "measured" || r.Of != 1000 || r.Loss != 1/float64(r.Epoch) ||
			(r.HeldOut == nil) != (r.Epoch == 34) || r.HeldOut != nil && *r.HeldOut != 2*r.Loss {
			t.Errorf("line %d: %s", lines, sc.Bytes())
		}
	}

	if lines != 58 || len(file) > 64<<10 {
		t.Errorf("%d lines, %d bytes", lines, len(file))
	}
}
