package trainstage

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/train"
	"doubletake/train/honest"
)

const stopping = "{inputs: [x], seeds: 2, model: {hidden: [16]}, " +
	"optimizer: {epochs: 200, learning_rate: 0.02, batch: 8}, early_stopping: {on: x, patience: 10}, " +
	"estimate: {samples: 16}, compare: [constant, ensemble], members: 2, " +
	"honest: {base: none}, splits: {high: {test: {x: {min: 4}}}}}"

// The number of epochs is that of the lowest loss on an inner group of the training
// part, which is taken here again of a training without that group's rows; the
// network and the ensemble have it, the constant does not need it.
func TestEarlyStopping(t *testing.T) {
	tab := stagetest.Wave()
	b, output := made(t, stopping, tab)
	z := stagetest.Floats(t, tab, "x")

	var groups []string
	for k := range 2 {
		got := stagetest.Read(t, output(StoppingID(b.Experiment, "high", k), StoppingArrow))
		losses := stagetest.Floats(t, got, ValidationLoss)
		name := got.Get("inner_group")
		groups = append(groups, name)

		var m train.Model
		if err := plan.ReadJSON(output(TrainID(b.Experiment, "high", k), "model.json"), &m); err != nil {
			t.Fatal(err)
		}

		best := slices.Index(losses, slices.Min(losses)) + 1

		rows := stagetest.Read(t, output(TrainID(b.Experiment, "high", k), "history.arrow")).Rows()
		if m.Config.Stop != best || m.Config.Epochs != 200 || rows != best || len(losses) != best+10 {
			t.Errorf("seed %d: %d epochs of %d, %d rows; lowest loss at %d of %d", k, m.Config.Stop, m.Config.Epochs, rows, best,
				len(losses))
		}

		// The groups of the training part are blocks of x below 4, named by their range.
		var low []float64
		for _, v := range z {
			if v < 4 {
				low = append(low, v)
			}
		}

		g := honest.ByBlock("x", low, honest.DefaultBlocks)
		if distinct := len(slices.Compact(slices.Sorted(slices.Values(low)))); distinct <= 40 {
			g = honest.ByValue("x", low, 0)
		}

		of := slices.Index(g.Names, strings.TrimPrefix(name, "x = "))
		if of < 0 {
			t.Fatalf("inner group %q is none of %q", name, g.Names)
		}

		set, err := plan.Triplets(tab, []string{"x"}, []string{"y"})
		if err != nil {
			t.Fatal(err)
		}

		var rest, held []int

		n := 0
		for i, v := range z {
			if v >= 4 {
				continue
			}

			if g.Of[n] == of {
				held = append(held, i)
			} else {
				rest = append(rest, i)
			}

			n++
		}

		c := m.Config
		c.Stop = 0
		_, history, err := train.FitWith(context.Background(), set.Select(rest), c,
			train.FitOptions{HeldOut: set.Select(held), HeldOutEvery: 1})
		if err != nil {
			t.Fatal(err)
		}

		for i, v := range losses {
			if v != history[i].HeldOut {
				t.Fatalf("seed %d, epoch %d: loss on %s %g, expected %g", k, i+1, name, v, history[i].HeldOut)
			}
		}
	}

	if groups[0] == groups[1] {
		t.Errorf("both seeds leave out %s", groups[0])
	}

	for _, task := range b.Tasks.Plan.Tasks {
		needs := false
		for _, d := range task.Deps {
			needs = needs || d.Output == StoppingArrow
		}

		if want := strings.Contains(task.ID, "ensemble") || task.ID == TrainID(b.Experiment, "high", 0) ||
			task.ID == TrainID(b.Experiment, "high", 1); needs != want {
			t.Errorf("%s needs the number of epochs: %v", task.ID, needs)
		}
	}
}

// No outcome of the held-out part has a part in the number of epochs, nor in the
// model: with all of them changed, both are the same to the bit. Neither do they take
// part where their loss is taken after every few epochs.
func TestTestPartStaysOut(t *testing.T) {
	for _, section := range []string{stopping, small} {
		other := stagetest.Wave()
		for i, x := range other.Column("x").Floats {
			if x >= 4 {
				other.Column("y_1").Floats[i] *= -7
				other.Column("y_2").Floats[i] += 1e5
			}
		}

		b, one := made(t, section, stagetest.Wave())
		_, two := made(t, section, other)
		same := func(task, name string) bool {
			x, err1 := os.ReadFile(one(task, name))

			y, err2 := os.ReadFile(two(task, name))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}

			return bytes.Equal(x, y)
		}

		for k := range 2 {
			if !same(TrainID(b.Experiment, "high", k), "model.json") {
				t.Errorf("seed %d: the model differs", k)
			}

			if section == stopping && !same(StoppingID(b.Experiment, "high", k), StoppingArrow) {
				t.Errorf("seed %d: the number of epochs may differ", k)
			}

			if same(TrainID(b.Experiment, "high", k), "history.arrow") {
				t.Errorf("seed %d: the held-out loss is the same of other outcomes", k)
			}
		}
	}
}

// Early stopping needs two groups, an input that varies without one of them, and a
// loss that is a number.
func TestEarlyStoppingErrors(t *testing.T) {
	for _, c := range []struct{ table, section, want string }{
		{
			"run recording x z y_1 y_2\na a 1 1 1 1.5\na b 2 1 2 2\nb c 3 1 3 3.5\nb d 9 2 4 4",
			"{inputs: [x, z], early_stopping: {on: z}, splits: {s: {test: {z: 2}}}}",
			"train.early_stopping.on: expected a condition of 2 values and more in every training set, found z = 1",
		},
		{
			"run recording x y_1 y_2\na a 1 1 1.5\na b 1 2 2\nb c 2 3 3.5\nb d 9 4 4",
			"{inputs: [x], early_stopping: {on: x}, splits: {s: {test: {x: 9}}}}",
			"train.early_stopping.on: no input varies in the training set without x = ",
		},
	} {
		section := strings.Replace(c.section, "{inputs", "{seeds: 1, model: {hidden: [4]}, "+
			"optimizer: {epochs: 2, batch: 2}, estimate: {samples: 2}, honest: {base: none}, inputs", 1)
		b := stagetest.New(t, section, stagetest.Table(c.table))
		if _, err := Plan(b.Experiment, b.Ing, b.Trip); err != nil {
			t.Fatal(err)
		}

		_, err := b.Run(context.Background(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
}

// The epoch with the lowest loss counts, the first of equals, whatever is missing.
func TestStoppedAt(t *testing.T) {
	history := []train.Epoch{
		{Epoch: 1},
		{Epoch: 2, HeldOut: 3, Judged: true},
		{Epoch: 3, HeldOut: 1, Judged: true},
		{Epoch: 4, HeldOut: 1, Judged: true},
	}

	got := stoppingTable(history)
	if v := got.Column(ValidationLoss).Floats; !math.IsNaN(v[0]) || lowest(v) != 3 || train.Best(history) != 3 {
		t.Errorf("%v: epoch %d", v, lowest(v))
	}
}
