package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Expected values in this file are those of trainings that were left alone.

func checkpointData() triplets.Set { return shapeData(70, 2, 2) }

func checkpointConfig() Config {
	c := DefaultConfig()
	c.Hidden, c.Epochs, c.Batch, c.Seed = []int{16, 16}, 6, 16, 5
	return c
}

// fitWith is FitWith that returns what became of the checkpoint.
func fitWith(ctx context.Context, data triplets.Set, cfg Config, o FitOptions) (m *Model, history []Epoch,
	res Resumption, err error,
) {
	o.Resumed = func(r Resumption) { res = r }
	m, history, err = FitWith(ctx, data, cfg, o)
	return m, history, res, err
}

func modelBytes(t *testing.T, m *Model) string {
	t.Helper()

	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

// every saves a checkpoint before each step.
func everyStep(t *testing.T, data triplets.Set, cfg Config) (saved [][]byte, m *Model, history []Epoch) {
	t.Helper()
	m, history, res, err := fitWith(context.Background(), data, cfg, FitOptions{
		Save:  func(b []byte) error { saved = append(saved, b); return nil },
		Every: 1,
	})

	if err != nil || res != (Resumption{}) {
		t.Fatal(err, res)
	}

	return saved, m, history
}

// A training resumed from any step gives the result of an uninterrupted one, for
// every kernel set, pairs mode, schedule and feedback.
func TestResume(t *testing.T) {
	data := checkpointData()

	rng := rand.New(rand.NewPCG(3, 4))
	for _, kernels := range kernel.Names() {
		for _, pairs := range []string{Symmetrised, Swap, Plain} {
			for _, other := range []func(*Config){
				func(*Config) {},
				func(c *Config) { c.Schedule, c.Dropout, c.WeightDecay = "cosine", 0, 0.1 },
				func(c *Config) { c.Feedback, c.Batch, c.Hidden = Flag, 200, []int{24} },
			} {
				cfg := checkpointConfig()
				cfg.Kernels, cfg.Pairs = kernels, pairs
				other(&cfg)

				want, wantHistory, err := Fit(context.Background(), data, cfg, nil)
				if err != nil {
					t.Fatal(err)
				}

				saved, m, history := everyStep(t, data, cfg)
				if modelBytes(t, m) != modelBytes(t, want) || !slices.Equal(history, wantHistory) {
					t.Fatalf("%s, %s: saving changes the training", kernels, pairs)
				}

				steps := max(1, data.N/cfg.Batch)
				if len(saved) < cfg.Epochs*steps-1 { // Every is 1 ns: the first step may be earlier
					t.Fatalf("%d checkpoints of %d steps", len(saved), cfg.Epochs*steps)
				}

				first := cfg.Epochs*steps - len(saved)
				for range 6 {
					i := rng.IntN(len(saved))
					hooked := 0
					m, history, res, err := fitWith(context.Background(), data, cfg,
						FitOptions{Resume: saved[i], Hook: func(Epoch) { hooked++ }})
					if err != nil || res.Ignored != nil {
						t.Fatal(err, res.Ignored)
					}

					if res.Steps != i+first || res.Epochs != (i+first)/steps && res.Epochs != (i+first-1)/steps ||
						hooked != cfg.Epochs-res.Epochs {
						t.Errorf("checkpoint %d: resumption is %+v, %d epochs were trained", i, res, hooked)
					}

					if modelBytes(t, m) != modelBytes(t, want) {
						t.Errorf("%s, %s, %+v: resumed at step %d, the model differs", kernels, pairs, cfg, res.Steps)
					}

					if !slices.Equal(history, wantHistory) {
						t.Errorf("%s, %s: resumed at step %d, the history is %v, expected %v", kernels, pairs, res.Steps, history,
							wantHistory)
					}
				}
			}
		}
	}
}

// Interrupted again and again, each time after a few steps, a training still
// gives the same; the last checkpoint is enough.
func TestInterruptedAgainAndAgain(t *testing.T) {
	data, cfg := checkpointData(), checkpointConfig()
	cfg.Pairs = Swap
	held := data.Select([]int{1, 4, 7, 12})
	want, wantHistory, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
	if err != nil {
		t.Fatal(err)
	}

	var last []byte

	steps, attempts := 0, 0
	for {
		attempts++

		// A context that is done after three more looks at it.
		ctx := &dyingContext{Context: context.Background(), looks: 3}
		m, history, res, err := fitWith(ctx, data, cfg, FitOptions{
			Resume: last, Every: time.Hour, Save: func(b []byte) error { last = b; return nil },
			HeldOut: held, HeldOutEvery: 2,
		})

		if res.Ignored != nil {
			t.Fatal(res.Ignored)
		}

		if res.Steps != steps {
			t.Fatalf("attempt %d went on from step %d, expected %d", attempts, res.Steps, steps)
		}

		if err == nil {
			if modelBytes(t, m) != modelBytes(t, want) || !slices.Equal(history, wantHistory) {
				t.Error("the result differs")
			}
			break
		}

		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}

		steps += 3
	}

	if attempts < 8 {
		t.Errorf("only %d attempts", attempts)
	}
}

type dyingContext struct {
	context.Context
	looks int
}

func (c *dyingContext) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A checkpoint that is damaged, or of another training, is reported and changes
// nothing.
func TestUnusableCheckpoints(t *testing.T) {
	data, cfg := checkpointData(), checkpointConfig()
	cfg.Kernels = "portable"
	saved, want, wantHistory := everyStep(t, data, cfg)
	good := saved[len(saved)/2]
	other := func(change func(*triplets.Set, *Config)) []byte {
		d, c := checkpointData(), cfg
		change(&d, &c)
		s, _, _ := everyStep(t, d, c)
		return s[len(s)/2]
	}

	flip := func(i int) []byte {
		b := bytes.Clone(good)
		b[i] ^= 4
		return b
	}

	// forge changes a byte and makes the checksum right.
	forge := func(i int) []byte {
		b := flip(i)
		return seal(b[:len(b)-sha256.Size])
	}

	arithmetic := len(checkpointMagic) + 4 + 2*sha256.Size
	type bad struct {
		name string
		b    []byte
		is   error
		text string
	}

	var judged []byte // of the same training, with a held-out loss in its history
	_, _, err := FitWith(context.Background(), data, cfg, FitOptions{
		HeldOut: data, HeldOutEvery: 1, Every: 1, Save: func(b []byte) error { judged = b; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	list := []bad{
		{"held-out rows", judged, ErrCheckpointForeign, "data"},
		{"nothing in it", []byte{}, ErrCheckpointDamaged, "cut off (0 bytes)"},
		{"something else", []byte(strings.Repeat("not a checkpoint ", 100)), ErrCheckpointDamaged, "does not begin"},
		{"cut off", good[:len(good)-1], ErrCheckpointDamaged, "checksum"},
		{"half", good[:len(good)/2], ErrCheckpointDamaged, "checksum"},
		{"too long", append(bytes.Clone(good), 0), ErrCheckpointDamaged, "checksum"},
		{"flipped at the end", flip(len(good) - 1), ErrCheckpointDamaged, "checksum"},
		{"other layout", forge(len(checkpointMagic)), ErrCheckpointOld, "layout 6, expected 2"},
		{"other arithmetic", forge(arithmetic), ErrCheckpointOld, "arithmetic"},
		{"seed", other(func(_ *triplets.Set, c *Config) { c.Seed++ }), ErrCheckpointForeign, "settings"},
		{"epochs", other(func(_ *triplets.Set, c *Config) { c.Epochs++ }), ErrCheckpointForeign, "settings"},
		{"one number", other(func(d *triplets.Set, _ *Config) { d.Y2[7] += 1e-3 }), ErrCheckpointForeign, "data"},
		{
			"one row less", other(func(d *triplets.Set, _ *Config) { d.N--; d.X, d.Y1, d.Y2 = d.X[2:], d.Y1[2:], d.Y2[2:] }),
			ErrCheckpointForeign, "data",
		},
	}

	for _, k := range kernel.Names() {
		if k != "portable" {
			list = append(list, bad{
				k, other(func(_ *triplets.Set, c *Config) { c.Kernels = k }), ErrCheckpointForeign,
				`kernels are "` + k + `", here "portable"`,
			})
		}
	}

	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		list = append(list, bad{"flipped somewhere", flip(rng.IntN(len(good))), ErrCheckpointDamaged, ""})
	}

	for _, c := range list {
		m, history, res, err := fitWith(context.Background(), data, cfg, FitOptions{Resume: c.b})
		if err != nil {
			t.Fatal(err)
		}

		if !errors.Is(res.Ignored, c.is) || !strings.Contains(res.Ignored.Error(), c.text) {
			t.Errorf("%s: ignored because %q, expected %q … %s", c.name, res.Ignored, c.is, c.text)
		}

		if res.Epochs != 0 || res.Steps != 0 {
			t.Errorf("%s: resumption is %+v", c.name, res)
		}

		if modelBytes(t, m) != modelBytes(t, want) || !slices.Equal(history, wantHistory) {
			t.Errorf("%s: the result differs", c.name)
		}
	}
}

// seal adds the checksum.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

func TestSaveFails(t *testing.T) {
	full := errors.New("no space left on device")
	_, _, _, err := fitWith(context.Background(), checkpointData(), checkpointConfig(),
		FitOptions{Every: 1, Save: func([]byte) error { return full }})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), "save checkpoint") {
		t.Errorf("the error is %v", err)
	}
}

// Restoring a checkpoint of the right identity and checksum never panics,
// whatever its contents, nor does the training that follows.
func FuzzRestore(f *testing.F) {
	data, cfg := checkpointData(), checkpointConfig()
	cfg.Kernels, cfg.Hidden, cfg.Pairs, cfg.Epochs, data.N = "portable", []int{4}, Swap, 2, 6
	data.X, data.Y1, data.Y2 = data.X[:12], data.Y1[:12], data.Y2[:12]

	var saved [][]byte
	if _, _, _, err := fitWith(context.Background(), data, cfg,
		FitOptions{Every: 1, Save: func(b []byte) error { saved = append(saved, b); return nil }}); err != nil {
		f.Fatal(err)
	}

	head := len(checkpointMagic) + 4 + 3*sha256.Size + 1 + len("portable")
	for _, b := range saved {
		f.Add(b[head : len(b)-sha256.Size])
	}

	f.Fuzz(func(t *testing.T, tail []byte) {
		b := seal(append(bytes.Clone(saved[0][:head]), tail...))
		m, history, res, err := fitWith(context.Background(), data, cfg, FitOptions{Resume: b})
		if res.Ignored == nil && !slices.ContainsFunc(saved, func(s []byte) bool { return bytes.Equal(s, b) }) {
			return // forged, but possible: any weights are
		}

		want, wantHistory, _ := Fit(context.Background(), data, cfg, nil)
		if err != nil || modelBytes(t, m) != modelBytes(t, want) || !reflect.DeepEqual(history, wantHistory) {
			t.Errorf("%v, %v: the result differs", res, err)
		}
	})
}

func BenchmarkCheckpoint(b *testing.B) {
	data, cfg := shapeData(45000, 2, 2), DefaultConfig()
	cfg.Batch, cfg.Epochs = 256, 1

	k := resolved(b, "")

	l := newLayout(2, 2, 0, cfg.Hidden)
	t, c := newTrainer(l, k, cfg), newCourse(data.N, cfg)
	for b.Loop() {
		b.SetBytes(int64(len(identity{}.checkpoint(t, c))))
	}
}

// A training that takes the loss of held-out rows gives the same model as one that does
// not. What its history holds is the loss of the final weights without dropout: the golden
// test compares that function with torch, and here it is taken of a trainer that has
// no dropout.
func TestHeldOutLoss(t *testing.T) {
	data := checkpointData()

	var rows []int
	for i := 0; i < data.N; i += 2 {
		rows = append(rows, i)
	}

	held := data.Select(rows)
	for _, pairs := range []string{Symmetrised, Swap, Plain} {
		cfg := checkpointConfig()
		cfg.Pairs, cfg.Dropout = pairs, 0.2
		want, wantHistory, err := Fit(context.Background(), data, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}

		m, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
		if err != nil {
			t.Fatal(err)
		}

		for i, e := range history {
			if e.Judged != (e.Epoch%2 == 0 || e.Epoch == cfg.Epochs) {
				t.Errorf("%s: epoch %d: held-out loss taken: %v", pairs, e.Epoch, e.Judged)
			}

			e.HeldOut, e.Judged = 0, false
			if e != wantHistory[i] {
				t.Errorf("%s: epoch %d differs: %v, without held-out rows %v", pairs, i+1, e, wantHistory[i])
			}
		}

		if modelBytes(t, m) != modelBytes(t, want) {
			t.Errorf("%s: held-out rows change the model", pairs)
		}

		far := held.Select([]int{0, 1})
		far.Y1 = []float64{1e38, 1, 1, 1}
		_, history2, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: far, HeldOutEvery: 1})
		if err != nil || !slices.Equal(history2, wantHistory) {
			t.Errorf("%s: a loss that is no number: %v, %v", pairs, history2, err)
		}

		k := resolved(t, cfg.Kernels)

		cfg.Dropout = 0
		still := newTrainer(newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
		copy(still.p, m.params)

		if got := still.loss(packRows[float32](held, m.in, m.out), nil); got != history[len(history)-1].HeldOut {
			t.Errorf("%s: the last held-out loss is %g, of the final weights %g", pairs,
				history[len(history)-1].HeldOut, got)
		}
	}
}

// With patience a training ends so many epochs after the one with the lowest held-out
// loss, and up to there it is the training without. One that Stop ends is a training of
// Epochs cut off, the schedule with it. Both, and single networks, go on from
// checkpoints.
func TestStop(t *testing.T) {
	data, cfg := checkpointData(), checkpointConfig()
	cfg.Schedule, cfg.Epochs, cfg.LearningRate = Cosine, 60, 0.02

	held := shapeData(20, 2, 2)
	for i := range held.Y1 {
		held.Y1[i] += 5 * math.Sin(float64(7*i)) // so that the network soon claims too little here
	}

	for _, single := range []bool{false, true} {
		all := FitOptions{HeldOut: held, HeldOutEvery: 1, Single: single}
		_, long, err := FitWith(context.Background(), data, cfg, all)
		if err != nil {
			t.Fatal(err)
		}

		patient := all
		patient.Patience = 4
		_, short, err := FitWith(context.Background(), data, cfg, patient)
		if err != nil {
			t.Fatal(err)
		}

		best := 0 // by hand: the first minimum that the next four epochs do not pass
		for i, e := range long {
			if e.HeldOut < long[best].HeldOut {
				best = i
			}

			if i-best == 4 {
				break
			}
		}

		if n := best + 5; n > 30 || len(short) != n || !slices.Equal(short, long[:n]) || Best(short) != best+1 {
			t.Errorf("single %v: %d epochs, best %d; by hand best %d", single, len(short), Best(short), best+1)
		}

		stop := cfg
		stop.Stop = 7
		m, got, err := FitWith(context.Background(), data, stop, all)
		if err != nil || !slices.Equal(got, long[:7]) {
			t.Errorf("single %v: %v, %v", single, got, err)
		}

		for _, o := range []struct {
			FitOptions
			cfg     Config
			history []Epoch
		}{{patient, cfg, short}, {all, stop, got}} {
			var saved []byte
			steps := 0
			o.Every, o.Save = time.Nanosecond, func(b []byte) error {
				if steps++; steps == 18 {
					saved = b
				}
				return nil
			}

			if _, _, err := FitWith(context.Background(), data, o.cfg, o.FitOptions); err != nil || saved == nil {
				t.Fatal(err, steps)
			}

			o.Resume, o.Save = saved, nil
			m2, h2, res, err := fitWith(context.Background(), data, o.cfg, o.FitOptions)
			if err != nil || res.Ignored != nil || res.Steps == 0 || !slices.Equal(h2, o.history) {
				t.Errorf("single %v: resumed %+v, %v: %d epochs, expected %d", single, res, err, len(h2), len(o.history))
			}

			if o.cfg.Stop > 0 && modelBytes(t, m2) != modelBytes(t, m) {
				t.Errorf("single %v: the resumed model differs", single)
			}
		}
	}

	if Best(nil) != 0 || Best([]Epoch{{Epoch: 1}}) != 0 {
		t.Error("best epoch of none judged")
	}

	cfg.Stop = cfg.Epochs + 1
	_, _, err := Fit(context.Background(), data, cfg, nil)
	if err == nil || !strings.Contains(err.Error(), "stop: expected") {
		t.Error(err)
	}
}
