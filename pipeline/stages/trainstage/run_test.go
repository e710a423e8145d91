package trainstage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// small is a section train whose tasks take milliseconds.
const small = "{inputs: [x], seeds: 2, calibration: 0.2, model: {hidden: [8]}, optimizer: {epochs: 20}, " +
	"estimate: {samples: 16}, compare: [constant], honest: {base: none}, splits: {high: {test: {x: {min: 4}}}}}"

// made plans the stage and makes its tasks.
func made(t *testing.T, train string, tab *table.Table) (*stagetest.Experiment, func(task, output string) string) {
	t.Helper()

	b := stagetest.New(t, train, tab)
	if _, err := Plan(b.Experiment, b.Ing, b.Trip); err != nil {
		t.Fatal(err)
	}

	output, err := b.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}

	return b, output
}

// The outputs of one training agree with each other: the model of model.json gives
// the predictions of predictions.arrow, and calibration.json the factor that these
// have on the rows set aside.
func TestTrainTask(t *testing.T) {
	b, output := made(t, small, stagetest.Wave())
	id := TrainID(b.Experiment, "high", 1)
	pred := stagetest.Read(t, output(id, "predictions.arrow"))
	if pred.Rows() != 120 || pred.Get("split") != "high" || pred.Get("held_out") != "x ≥ 4" || pred.Get("seed") != "1" ||
		pred.Get("kernels") != "portable" || pred.Get("samples") != "16" {
		t.Errorf("%d rows, %v", pred.Rows(), pred.Meta)
	}

	x, part := stagetest.Floats(t, pred, "x"), pred.Column("set").Strings
	y1, y2 := stagetest.Floats(t, pred, "y_1"), stagetest.Floats(t, pred, "y_2")
	mu, variance := stagetest.Floats(t, pred, "y_mu"), stagetest.Floats(t, pred, "y_var")
	cov := stagetest.Floats(t, pred, "y_cov")

	var m train.Model
	if err := plan.ReadJSON(output(id, "model.json"), &m); err != nil {
		t.Fatal(err)
	}

	est, err := m.Estimate(context.Background(), x, train.EstimateOptions{Samples: 2})
	if err != nil {
		t.Fatal(err)
	}

	scale := m.OutcomeScale()
	for i := range x {
		s := scale.Std[0]
		if math.Abs(scale.Mean[0]+s*est.Mu[i]-mu[i]) > 1e-9 || math.Abs(est.Var[i]*s*s-variance[i]) > 1e-9 ||
			math.Abs(est.Cov[i]*s*s-cov[i]) > 1e-9 {
			t.Fatalf("row %d: the model gives %g, the table %g", i, scale.Mean[0]+s*est.Mu[i], mu[i])
		}
	}

	// The model's scale is that of the training part.
	var trained []float64

	var factor, rows float64
	for i, p := range part {
		if want := x[i] >= 4; (p == "test") != want {
			t.Fatalf("row %d at %g is %s", i, x[i], p)
		}

		switch p {
		case "train":
			trained = append(trained, y1[i], y2[i])
		case "calibration":
			a, b := y1[i]-mu[i], y2[i]-mu[i]
			factor += (a*a + b*b) / 2 / variance[i]
			rows++
		}
	}

	want := triplets.ScaleOf(1, trained)
	if math.Abs(scale.Mean[0]-want.Mean[0]) > 1e-9 || math.Abs(scale.Std[0]-want.Std[0]) > 1e-9 {
		t.Errorf("scale %+v, expected %+v", scale, want)
	}

	var r score.Recalibration
	if err := plan.ReadJSON(output(id, CalibrationJSON), &r); err != nil {
		t.Fatal(err)
	}

	if r.Rows != int(rows) || math.Abs(r.Outcomes[0].TotalFactor-factor/rows) > 1e-9*factor/rows {
		t.Errorf("%d rows, factor %g; expected %g rows, %g", r.Rows, r.Outcomes[0].TotalFactor, rows, factor/rows)
	}

	epochs := stagetest.Read(t, output(id, "history.arrow")).Column("epoch").Ints
	if len(epochs) != 20 || epochs[19] != 20 {
		t.Errorf("epochs %v", epochs)
	}

	var c Card
	if err := plan.ReadJSON(output(id, cardJSON), &c); err != nil || c.Triplets != len(trained)/2 || c.Seed != 1 {
		t.Errorf("%+v, %v", c, err)
	}

	var time Timing
	if err := plan.ReadJSON(output(id, TimingJSON), &time); err != nil || !(time.Fit > 0) || !(time.Predict > 0) {
		t.Errorf("%+v, %v", time, err)
	}

	// The seeds differ.
	other := stagetest.Read(t, output(TrainID(b.Experiment, "high", 0), "predictions.arrow"))
	if stagetest.Floats(t, other, "y_mu")[0] == mu[0] {
		t.Error("both seeds have the same prediction")
	}
}

// A method's task writes its predictions in the outcomes' units. Expected by hand
// for the constant: the mean of the training rows, and their variance (n−1) plus
// that of the mean over rows.
func TestMethodTask(t *testing.T) {
	tab := stagetest.Table(rotor)
	b, output := made(t, "{inputs: [rpm], seeds: 1, model: {hidden: [4]}, optimizer: {epochs: 1}, "+
		"compare: [constant], honest: {base: none}, splits: {s: {test: {blades: {min: 3}}}}}", tab)
	got := stagetest.Read(t, output(MethodID(b.Experiment, "s", "constant", 0), MethodArrow))
	if got.Rows() != 5 || got.Get("seed") != "0" || got.Get("split") != "s" {
		t.Errorf("%d rows, %v", got.Rows(), got.Meta)
	}

	// 10, 11, 30, 33, 40, 44: mean 28, squares about it 1042; row means 10.5, 31.5, 42,
	// squares about 28 of 17.5² + 3.5² + 14² = 514.5.
	epistemic := 514.5 / 3 / 2
	for name, want := range map[string]float64{"y_mu": 28, "y_epistemic": epistemic, "y_var": 1042.0/5 + epistemic} {
		for i, v := range stagetest.Floats(t, got, name) {
			if math.Abs(v-want) > 1e-9*want {
				t.Errorf("row %d: %s %g, expected %g", i, name, v, want)
			}
		}
	}
}

// Simple methods leave out the groups of the split, unless another condition is named. By
// hand: the outcome is 10 times the blades, 2, 3 and 5 of which are learned from. Left out, 2
// and 3 are predicted by each other and 5 by 3: squares 100, 100 and 400. By speed each is
// predicted exactly.
func TestMethodGroups(t *testing.T) {
	var text strings.Builder
	text.WriteString("run recording rpm blades y_1[N] y_2[N]\n")

	for _, blades := range []int{2, 3, 4, 5} {
		for _, rpm := range []int{1000, 2000, 4000} {
			fmt.Fprintf(&text, "r%d-%d r%d-%d %d %d %d %d\n", blades, rpm, blades, rpm, rpm, blades, 10*blades, 10*blades)
		}
	}

	keys := map[string]bool{}
	for groups, want := range map[string]float64{"": 200, "groups: rpm, ": 0} {
		b, output := made(t, "{inputs: [rpm, blades], seeds: 1, model: {hidden: [4]}, optimizer: {epochs: 1}, "+
			"compare: [nearest-group], honest: {"+groups+"base: none}, splits: {s: {test: {blades: 4}}}}",
			stagetest.Table(text.String()))
		id := MethodID(b.Experiment, "s", "nearest-group", 0)
		keys[b.Keys()[id]] = true
		got := stagetest.Read(t, output(id, MethodArrow))
		for i, v := range stagetest.Floats(t, got, "y_epistemic") {
			if math.Abs(v-want) > 1e-9*200 {
				t.Errorf("groups %q, row %d: epistemic variance %g, expected %g", groups, i, v, want)
			}
		}
	}

	if len(keys) != 2 {
		t.Error("other groups give the same key")
	}
}

// The same plan gives the same bytes in another folder, run another time.
func TestSameBytes(t *testing.T) {
	b, first := made(t, small, stagetest.Wave())

	_, second := made(t, small, stagetest.Wave())
	for _, o := range []string{"model.json", FlagsJSON, "history.arrow", "predictions.arrow", CalibrationJSON} {
		id := TrainID(b.Experiment, "high", 0)
		one, err1 := os.ReadFile(first(id, o))

		two, err2 := os.ReadFile(second(id, o))
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs (%v, %v)", o, err1, err2)
		}
	}
}

// A training that was interrupted goes on from its checkpoint and gives the model
// of an uninterrupted one; so does one that decides when others end.
func TestInterrupted(t *testing.T) {
	defer func(d time.Duration) { CheckpointEvery = d }(CheckpointEvery)
	CheckpointEvery = time.Nanosecond
	section := strings.NewReplacer("seeds: 2", "seeds: 1", "epochs: 20", "epochs: 12",
		"compare: [constant], ", "").Replace(small)
	t.Run("all epochs", func(t *testing.T) { interrupted(t, section) })
	t.Run("early stopping", func(t *testing.T) {
		interrupted(t, strings.Replace(section, "seeds: 1", "seeds: 1, early_stopping: {on: x, patience: 8}", 1))
	})
}

func interrupted(t *testing.T, section string) {
	t.Helper()
	b, output := made(t, section, stagetest.Wave())
	id := TrainID(b.Experiment, "high", 0)
	whole, err := os.ReadFile(output(id, "model.json"))
	if err != nil {
		t.Fatal(err)
	}

	again := stagetest.New(t, section, stagetest.Wave())
	if _, err := Plan(again.Experiment, again.Ing, again.Trip); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer func(saved func(string)) { Saved = saved }(Saved)
	Saved = func(string) { cancel() }

	if _, err := again.Run(ctx, nil); err == nil {
		t.Fatal("the training was not interrupted")
	}

	var note string
	output, err = again.Run(context.Background(), func(e engine.Event) { note += e.Note })
	if err != nil {
		t.Fatal(err)
	}

	resumed, err := os.ReadFile(output(id, "model.json"))
	if err != nil || !bytes.Equal(whole, resumed) {
		t.Errorf("the resumed training gives another model (%v)", err)
	}

	if !strings.Contains(note, "went on after ") || !strings.Contains(note, " of 12 epochs") {
		t.Errorf("notes: %q", note)
	}
}

// What only the data show is an error at the place of the file that causes it.
func TestTaskErrors(t *testing.T) {
	for _, c := range []struct{ train, want string }{
		{
			"{inputs: [rpm, blades], seeds: 1, honest: {base: none}, splits: {s: {test: {blades: {min: 3}}}}}",
			`pipeline.yaml:6:13: experiments.x.train.inputs: "blades" is constant (2) in the training set of split "s": ` +
				"nothing can be learned from it",
		},
		{
			"{inputs: [rpm], seeds: 1, optimizer: {batch: 4}, honest: {base: none}, splits: {s: {test: {blades: {min: 3}}}}}",
			`experiments.x.train.optimizer.batch: expected up to 3 triplets, which the training set of split "s" has, found 4`,
		},
		{
			"{inputs: [rpm], seeds: 1, honest: {base: none}, splits: {s: {test: {blades: 9}}}}",
			"experiments.x.train.splits.s: blades = 9 holds for none of the 6 triplets",
		},
		{
			"{inputs: [rpm], outcomes: [z], seeds: 1, honest: {base: none}, splits: {s: {test: {blades: 3}}}}",
			`experiments.x.train.outcomes: "z" is not an outcome of this experiment, which has [y]`,
		},
		{
			"{inputs: [rpm], calibration: 0.4, seeds: 1, honest: {base: none}, splits: {s: {test: {rpm: {max: 1000}}}}}",
			"calibrate: recalibrate: expected at least 10 calibration rows, found 2",
		},
	} {
		b := stagetest.New(t, c.train, stagetest.Table(rotor))
		if _, err := Plan(b.Experiment, b.Ing, b.Trip); err != nil {
			t.Fatal(err)
		}

		_, err := b.Run(context.Background(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nexpected %s", c.train, err, c.want)
		}
	}
}

// A constant input of a method is placed in the file too, other errors stay.
func TestFitError(t *testing.T) {
	b := stagetest.New(t, "{inputs: [rpm, blades], splits: {s: {test: {rpm: 1}}}}", nil)
	s := config.Split{Name: "s", Test: holdout.Nothing}
	err := fitError(b.Experiment, s, fmt.Errorf("train: %w", &train.ConstantInputError{Column: 1, Value: 2}))
	if !strings.Contains(err.Error(), `experiments.x.train.inputs: "blades" is constant (2)`) {
		t.Error(err)
	}

	other := json.Unmarshal([]byte("{"), new(int))
	if fitError(b.Experiment, s, other) != other {
		t.Error("another error was changed")
	}
}
