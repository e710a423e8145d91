package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// FitOptions are settings of FitWith in addition to those of training. With the
// zero value it equals Fit.
type FitOptions struct {
	// Hook, unless nil, is called after each epoch; after a resumption only for
	// those that were still to come.
	Hook func(Epoch)

	// HeldOut are rows that the training does not use, or none. Their loss is taken
	// after every HeldOutEvery epochs (0: never) and after the last one, without dropout.
	// It changes nothing but, with Patience, the end of the training.
	HeldOut      triplets.Set
	HeldOutEvery int

	// Patience, unless 0, ends the training that many epochs after the one with the
	// lowest loss on HeldOut (see Best), or after that many epochs without any loss.
	Patience int

	// Single trains the network of FitSingle.
	Single bool

	// Save, unless nil, is given a checkpoint about every Every of time, and one
	// more when ctx is done, unless it would be larger than 16 MiB. An error of
	// Save ends the training with that error. The bytes are the caller's to keep.
	Save func([]byte) error

	// Every is the time between checkpoints, default 5 s.
	Every time.Duration

	// Resume is a checkpoint to go on from, or nil. One that is damaged, or of
	// another training, is not used; Resumed gets the reason.
	Resume []byte

	// Resumed, unless nil, is called before the first step with the outcome of Resume.
	Resumed func(Resumption)
}

// Resumption is what became of FitOptions.Resume.
type Resumption struct {
	Epochs  int   // whole epochs that were not trained again
	Steps   int   // steps that were not trained again
	Ignored error // why Resume was not used; nil where it was, or where there was none
}

// Why a checkpoint was not used; wrapped by Resumption.Ignored.
var (
	ErrCheckpointDamaged = errors.New("checkpoint is damaged")
	ErrCheckpointForeign = errors.New("checkpoint is of another training")
	ErrCheckpointOld     = errors.New("checkpoint is of another version of the program")
)

const (
	checkpointMagic   = "doubletake checkpoint\n"
	checkpointVersion = 2 // of the layout of bytes
	epochBytes        = 25
	defaultEvery      = 5 * time.Second
	farewellLimit     = 16 << 20 // an interrupted program has two seconds to end
)

// course is the state of a training between two steps. With the trainer's
// weights, moments and dropout generators it determines all later steps.
type course struct {
	order           []int32
	swapped         []bool // nil unless Config.Pairs is Swap
	shuffled, swaps *rand.PCG
	epoch, step     int // epochs finished, steps taken in the one under way
	sum, rate       float64
	history         []Epoch
}

func newCourse(n int, cfg Config) *course {
	c := &course{
		order: make([]int32, n), shuffled: newStream(cfg.Seed, streamOrder), swaps: newStream(cfg.Seed, streamSwap),
		rate: cfg.LearningRate, history: make([]Epoch, 0, cfg.Epochs),
	}

	for i := range c.order {
		c.order[i] = int32(i)
	}

	if cfg.Pairs == Swap {
		c.swapped = make([]bool, n)
	}

	return c
}

// identity identifies a training: a checkpoint fits only if every part is the
// same.
type identity struct {
	settings, data, arithmetic [sha256.Size]byte
	kernels                    string
}

// identify hashes everything that determines a training. The arithmetic is
// identified by its result: the weights after two steps of a probe. Any change in the code
// that moves a bit of a training moves one there, and no version number has to
// be thought of.
func identify(l *layout, k *kernel.Set[float32], cfg Config, rows, weight []float32, in, out triplets.Scale) (identity,
	error,
) {
	n := len(rows) / (l.in + 2*l.out)
	id := identity{kernels: k.Name}
	cfg.Kernels = "" // kernels holds the resolved name
	js, err := json.Marshal(cfg)
	if err != nil {
		return id, fmt.Errorf("identify training: %w", err)
	}

	id.settings = sha256.Sum256(js)
	h := sha256.New()
	put(h, int64(l.in), int64(l.out), int64(n), in.Mean, in.Std, out.Mean, out.Std, rows, weight)
	h.Sum(id.data[:0])

	probe := newTrainer(l, k, cfg)
	probe.weight = weight
	probe.learnBins(rows)
	probe.initialise(cfg.Seed)
	c := newCourse(min(n, 2*probe.tripBlock), cfg)
	shuffle(c.shuffled, c.order)
	h.Reset()

	for range 2 {
		loss := probe.gradient(rows, c.order, c.swapped)
		probe.step(cfg.LearningRate * 0.5 * (1 + cosPi(0.25)))
		put(h, loss)
	}

	put(h, probe.p, probe.m, probe.v, c.order)
	h.Sum(id.arithmetic[:0])

	return id, nil
}

// extend makes the options that change the result part of the identity.
func (id *identity) extend(o hooks, single bool, held, weight []float32) {
	h := sha256.New()
	put(h, id.data, single, int64(o.heldEvery), int64(o.patience))

	if o.heldEvery > 0 {
		put(h, held, weight)
	}

	h.Sum(id.data[:0])
}

// put writes numbers, little endian; w is memory or a hash and does not fail.
func put(w interface{ Write([]byte) (int, error) }, v ...any) {
	for _, x := range v {
		if err := binary.Write(w, binary.LittleEndian, x); err != nil {
			panic("train: " + err.Error())
		}
	}
}

// checkpoint encodes a training between two steps.
//
//	magic, uint32 version
//	SHA-256 of settings, data and arithmetic; uint8 length and name of the kernels
//	int64 epoch, step; float64 sum, rate, β1^t, β2^t
//	uint32 n, n × int32 order; n × uint8 swapped (pairs: swap)
//	2 × 20 bytes state of the streams of order and swaps; 32 × uint64 of dropout (if any)
//	uint32 parameters, parameters × float32 weights, m, v
//	epoch × (float64 loss, rate, held-out loss; uint8 judged)
//	SHA-256 of all before
//
// All little endian.
func (id identity) checkpoint(t *trainer[float32], c *course) []byte {
	var b bytes.Buffer
	b.Grow(512 + 5*len(c.order) + 12*t.size + epochBytes*len(c.history))
	b.WriteString(checkpointMagic)
	put(&b, uint32(checkpointVersion), id.settings, id.data, id.arithmetic, uint8(len(id.kernels)))
	b.WriteString(id.kernels)
	put(&b, int64(c.epoch), int64(c.step), c.sum, c.rate, t.beta1t, t.beta2t, uint32(len(c.order)), c.order)

	if c.swapped != nil {
		put(&b, c.swapped)
	}

	for _, p := range []*rand.PCG{c.shuffled, c.swaps} {
		s, _ := p.MarshalBinary() // never fails
		b.Write(s)
	}

	if t.lanes != nil {
		put(&b, *t.lanes)
	}

	put(&b, uint32(t.size), t.p, t.m, t.v)

	for _, e := range c.history {
		put(&b, e.Loss, e.LearningRate, e.HeldOut, e.Judged)
	}

	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])

	return b.Bytes()
}

// checkpointReader takes an encoded checkpoint apart; after a failure it reads
// zeros.
type checkpointReader struct {
	b   []byte
	bad bool
}

func (r *checkpointReader) next(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}

	b := r.b[:n]
	r.b = r.b[n:]

	return b
}

func (r *checkpointReader) get(v ...any) {
	for _, x := range v {
		b := r.next(binary.Size(x))

		if r.bad {
			return
		}

		if _, err := binary.Decode(b, binary.LittleEndian, x); err != nil {
			r.bad = true
		}
	}
}

// restore brings a fresh trainer and course to where a checkpoint was taken.
// After an error they are spoilt.
func (id identity) restore(data []byte, t *trainer[float32], c *course, cfg Config) error {
	if len(data) < len(checkpointMagic)+4+sha256.Size || string(data[:len(checkpointMagic)]) != checkpointMagic {
		return fmt.Errorf("%w: it does not begin like one, or is cut off (%d bytes)", ErrCheckpointDamaged, len(data))
	}

	body := data[:len(data)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
		return fmt.Errorf("%w: its checksum differs", ErrCheckpointDamaged)
	}

	r := &checkpointReader{b: body[len(checkpointMagic):]}

	var version uint32
	if r.get(&version); version != checkpointVersion {
		return fmt.Errorf("%w: layout %d, expected %d", ErrCheckpointOld, version, checkpointVersion)
	}

	var has identity
	var length uint8
	r.get(&has.settings, &has.data, &has.arithmetic, &length)

	has.kernels = string(r.next(int(length)))
	switch {
	case r.bad:
		return fmt.Errorf("%w: it ends early", ErrCheckpointDamaged)
	case has.settings != id.settings:
		return fmt.Errorf("%w: its settings differ", ErrCheckpointForeign)
	case has.data != id.data:
		return fmt.Errorf("%w: its data differ", ErrCheckpointForeign)
	case has.kernels != id.kernels:
		return fmt.Errorf("%w: its kernels are %q, here %q", ErrCheckpointForeign, has.kernels, id.kernels)
	case has.arithmetic != id.arithmetic:
		return fmt.Errorf("%w: its arithmetic rounds otherwise", ErrCheckpointOld)
	}

	var epoch, step int64

	var n, size uint32
	if r.get(&epoch, &step, &c.sum, &c.rate, &t.beta1t, &t.beta2t, &n); r.bad || int(n) != len(c.order) {
		return fmt.Errorf("%w: it has %d rows, expected %d", ErrCheckpointDamaged, n, len(c.order))
	}

	r.get(c.order)

	for i := range c.swapped {
		c.swapped[i] = slices.Equal(r.next(1), []byte{1})
	}

	for _, p := range []*rand.PCG{c.shuffled, c.swaps} {
		if err := p.UnmarshalBinary(r.next(20)); err != nil {
			r.bad = true
		}
	}

	if t.lanes != nil {
		r.get(t.lanes)
	}

	if r.get(&size); r.bad || int(size) != t.size {
		return fmt.Errorf("%w: it has %d parameters, expected %d", ErrCheckpointDamaged, size, t.size)
	}

	r.get(t.p, t.m, t.v)

	steps := max(1, len(c.order)/cfg.Batch)
	if r.bad || epoch < 0 || epoch > int64(cfg.Epochs) || step < 0 || step > int64(steps) ||
		int64(len(r.b)) != epochBytes*epoch {
		return fmt.Errorf("%w: epoch %d, step %d, with %d bytes of history", ErrCheckpointDamaged, epoch, step, len(r.b))
	}

	seen := make([]bool, n)
	for _, i := range c.order {
		if i < 0 || int(i) >= len(seen) || seen[i] {
			return fmt.Errorf("%w: its order of rows is none", ErrCheckpointDamaged)
		}
		seen[i] = true
	}

	c.epoch, c.step = int(epoch), int(step)
	for i := range c.epoch {
		e := Epoch{Epoch: i + 1}
		r.get(&e.Loss, &e.LearningRate, &e.HeldOut, &e.Judged)
		c.history = append(c.history, e)
	}

	return nil
}

// FitWith is Fit that can be interrupted: it saves checkpoints and goes on from
// one. A training that was resumed, however often, gives to the bit the model
// and history of one that was not. It checks that a checkpoint is whole, and of
// the same settings, data, kernels and arithmetic, before it uses it.
func FitWith(ctx context.Context, data triplets.Set, cfg Config, o FitOptions) (*Model, []Epoch, error) {
	if o.Single {
		cfg.Head, cfg.Bins = TwoAnswers, 0
		cfg.Feedback, cfg.FeedbackValue, cfg.Pairs = DropWeights, 0, Symmetrised
	}

	k, in, out, rows, err := prepare(data, cfg)
	if err != nil {
		return nil, nil, err
	}

	weight := rowWeights[float32](data)
	l := layoutOf(data.In, data.Out, cfg)
	fresh := func() (*trainer[float32], *course) {
		t := newTrainer(l, k, cfg)
		t.weight = weight
		t.learnBins(rows)
		t.initialise(cfg.Seed)

		if t.single = o.Single; t.single {
			t.deafen()
		}

		return t, newCourse(data.N, cfg)
	}

	t, c := fresh()

	h := hooks{epoch: o.Hook, patience: o.Patience}
	if o.HeldOut.N > 0 {
		h.heldEvery = o.HeldOutEvery
	}

	held, heldWeight := packRows[float32](o.HeldOut, in, out), rowWeights[float32](o.HeldOut)
	h.heldOut = func() float64 { return t.loss(held, heldWeight) }
	if o.Save != nil || o.Resume != nil {
		id, err := identify(l, k, cfg, rows, weight, in, out)
		if err != nil {
			return nil, nil, err
		}

		id.extend(h, o.Single, held, heldWeight)

		if o.Resume != nil {
			err := id.restore(o.Resume, t, c, cfg)
			if err != nil {
				t, c = fresh()
			}

			if o.Resumed != nil {
				o.Resumed(Resumption{Epochs: c.epoch, Steps: c.epoch*max(1, data.N/cfg.Batch) + c.step, Ignored: err})
			}
		}

		if o.Save != nil {
			h.every = o.Every
			if h.every <= 0 {
				h.every = defaultEvery
			}

			h.save = func(last bool) error {
				if last && 12*t.size+5*data.N+epochBytes*len(c.history) > farewellLimit {
					return nil
				}

				if err := o.Save(id.checkpoint(t, c)); err != nil {
					return fmt.Errorf("train: save checkpoint: %w", err)
				}

				return nil
			}
		}
	}

	if err := t.fit(ctx, rows, c, cfg, h); err != nil {
		return nil, nil, err
	}

	return newModel(t, cfg, in, out, k.Name), c.history, nil
}

// hooks are what fit calls on its way.
type hooks struct {
	epoch     func(Epoch)
	heldOut   func() float64
	heldEvery int // epochs; 0: never
	patience  int // epochs; 0: without end
	save      func(last bool) error
	every     time.Duration
}

// fit trains from c to the end.
func (t *trainer[T]) fit(ctx context.Context, rows []T, c *course, cfg Config, h hooks) error {
	n := len(c.order)
	steps := max(1, n/cfg.Batch) // the last batch takes the remainder too

	end := cfg.Epochs
	if cfg.Stop > 0 {
		end = cfg.Stop
	}

	saved := time.Now()
	for {
		if c.step == steps {
			e := Epoch{Epoch: c.epoch + 1, Loss: c.sum / float64(n), LearningRate: c.rate}
			if !finite(e.Loss) {
				return fmt.Errorf("train: the loss became %g in epoch %d: lower the learning rate (%g) or standardise the data",
					e.Loss, e.Epoch, cfg.LearningRate)
			}

			if h.heldEvery > 0 && (e.Epoch%h.heldEvery == 0 || e.Epoch == end) {
				if v := h.heldOut(); finite(v) {
					e.HeldOut, e.Judged = v, true
				}
			}

			c.history = append(c.history, e)
			c.epoch, c.step = c.epoch+1, 0
			if h.epoch != nil {
				h.epoch(e)
			}

			if h.patience > 0 && e.Epoch-Best(c.history) >= h.patience {
				end = e.Epoch
			}
		}

		if c.epoch == end {
			break
		}

		// Here, between two steps, a checkpoint holds everything: gradients are
		// zero, and an epoch that has begun (step > 0) has its order.
		if err := ctx.Err(); err != nil {
			if h.save != nil {
				if err := h.save(true); err != nil {
					return err
				}
			}

			return fmt.Errorf("train: stopped in epoch %d: %w", c.epoch+1, err)
		}

		if h.save != nil && time.Since(saved) >= h.every {
			if err := h.save(false); err != nil {
				return err
			}
			saved = time.Now()
		}

		if c.step == 0 {
			shuffle(c.shuffled, c.order)

			for i := range c.swapped {
				c.swapped[i] = c.swaps.Uint64()>>63 == 1
			}

			c.sum = 0
		}

		a, b := c.step*cfg.Batch, (c.step+1)*cfg.Batch
		if c.step == steps-1 {
			b = n
		}

		var sw []bool
		if c.swapped != nil {
			sw = c.swapped[a:b]
		}

		if cfg.Schedule == "cosine" {
			c.rate = cfg.LearningRate * 0.5 * (1 + cosPi(float64(c.epoch*steps+c.step)/float64(cfg.Epochs*steps)))
		}

		c.sum += float64(t.gradient(rows, c.order[a:b], sw) * float64(b-a))
		t.step(c.rate)

		if t.single {
			t.deafen()
		}

		c.step++
	}

	// The last step may still have spoilt the weights.
	for _, w := range t.p {
		if !finite(float64(w)) {
			return fmt.Errorf("train: a weight became %g in epoch %d: lower the learning rate (%g) or standardise the data", w,
				c.epoch, cfg.LearningRate)
		}
	}

	return nil
}

// Best returns the first epoch with the lowest held-out loss, 0 where none was taken.
func Best(history []Epoch) int {
	best, lowest := 0, math.Inf(1)
	for _, e := range history {
		if e.Judged && e.HeldOut < lowest {
			best, lowest = e.Epoch, e.HeldOut
		}
	}

	return best
}

// prepare checks settings and data, and returns what every training begins
// with: kernels, scales and the rows in them.
func prepare(data triplets.Set, cfg Config) (k *kernel.Set[float32], in, out triplets.Scale, rows []float32,
	err error,
) {
	if err := cfg.Validate(); err != nil {
		return nil, in, out, nil, fmt.Errorf("check settings: %w", err)
	}

	if err := check(data); err != nil {
		return nil, in, out, nil, fmt.Errorf("check training data: %w", err)
	}

	if k, err = kernel.Resolve(cfg.Kernels); err != nil {
		return nil, in, out, nil, err
	}

	if in, out, err = scalers(data, cfg); err != nil {
		return nil, in, out, nil, err
	}

	return k, in, out, packRows[float32](data, in, out), nil
}

// scalers returns the scales of inputs and outcomes.
func scalers(data triplets.Set, cfg Config) (in, out triplets.Scale, err error) {
	if !cfg.Standardise {
		return triplets.Identity(data.In), triplets.Identity(data.Out), nil
	}

	in, out = triplets.ScaleOf(data.In, data.X), data.OutcomeScale()
	for j, s := range in.Std {
		// Distinct numbers whose spread is lost to rounding.
		if !(s > 0) {
			return in, out, fmt.Errorf("check training data: %w", &ConstantInputError{Column: j, Value: in.Mean[j]})
		}
	}

	for j, s := range out.Std {
		if !(s > 0) {
			return in, out, fmt.Errorf("check training data: outcome column %d is constant (%g): there is nothing to learn", j,
				out.Mean[j])
		}
	}

	return in, out, nil
}
