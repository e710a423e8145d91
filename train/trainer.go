package train

import (
	"math"

	"doubletake/train/kernel"
)

// trainer is a net that can be trained. gradient goes through a batch in blocks of triplets. For each block, fill
// writes the rows of the network: one per triplet without feedback, one with y1 fed back and, with Symmetrised, one
// with y2 fed back. lossBlock evaluates the rows and the loss, and backward adds the gradient of the parameters.
// After the batch, step changes the parameters by Adam.
type trainer[T kernel.Float] struct {
	net[T]
	beta      T   // exponent of the β-NLL
	tripBlock int // triplets in a block
	passes    int // network rows per triplet: 2, or 3 with Symmetrised

	g, m, v []T   // gradient and Adam's first and second moments, in the places of p
	wt      [][]T // [hidden layer]: its weights transposed, from layer 1 on
	dh      [][]T // [hidden layer]: gradient of its pre-activations, rows × pad
	do      []T   // gradient of the head's output, rows × headN

	// For the loss of a block, rows × outcomes without padding between: means and raw variances, their
	// gradients, the two targets, and the weights in the loss.
	mu, raw, gmu, graw, t1, t2, c []T

	dropout uint16        // probability in units of 1/dropoutUnits
	lanes   *kernel.Lanes // random numbers for dropout
	bits    [][]uint16    // [hidden layer]: bits of the units to keep in a block

	weight, second []T     // [triplet]: weights of its first and its second answer, 1 on average; nil: 1
	none           T       // value of the feedback inputs without feedback
	symmetric      bool    // Symmetrised
	single         bool    // the feedback weights stay 0
	beta1t, beta2t float64 // adamBeta1 and adamBeta2 to the power of the number of steps
	weightDecay    float64
}

// dropoutUnits is the number of units into which kernel.Set.Bits divides the probability 1.
const dropoutUnits = 65536

// Adam's settings, as its authors recommend.
const (
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)

// newTrainer returns a trainer whose parameters are 0.
func newTrainer[T kernel.Float](l *layout, k *kernel.Set[T], cfg Config) *trainer[T] {
	t := &trainer[T]{net: *newNet(l, k, aligned[T](l.size), rowBlock), beta: T(cfg.Beta)}
	t.symmetric = cfg.Pairs == Symmetrised
	t.passes = 2
	if t.symmetric {
		t.passes = 3
	}

	t.tripBlock = rowBlock / t.passes
	t.g = aligned[T](l.size)
	t.m = aligned[T](l.size)
	t.v = aligned[T](l.size)
	for i, w := range l.pad {
		t.dh = append(t.dh, aligned[T](rowBlock*w))

		var wt []T
		if i > 0 {
			wt = aligned[T](w * l.pad[i-1])
		}

		t.wt = append(t.wt, wt)
	}

	t.do = aligned[T](rowBlock * l.headN)

	flat := kernel.PadLane(rowBlock * l.outcomes)
	for _, s := range []*[]T{&t.mu, &t.raw, &t.gmu, &t.graw, &t.t1, &t.t2, &t.c} {
		*s = aligned[T](flat)
	}

	t.dropout = uint16(math.Round(cfg.Dropout * dropoutUnits))
	if t.dropout > 0 {
		t.scale = T(dropoutUnits / (dropoutUnits - float64(t.dropout)))
		t.lanes = kernel.NewLanes(streamSeed(cfg.Seed, streamDropout))
		for _, w := range l.pad {
			t.bits = append(t.bits, make([]uint16, padBits(rowBlock*w)))
		}
	}

	if cfg.Feedback == Constant {
		t.none = T(cfg.FeedbackValue)
	}

	t.beta1t = 1
	t.beta2t = 1
	t.weightDecay = cfg.WeightDecay

	return t
}

// maskRows returns the number of rows for which dropout bits are drawn: n rounded up to a multiple of 12. That must
// not change: with another number all later bits would be different.
func maskRows(n int) int { return (n + 11) / 12 * 12 }

// rows returns the number of network rows for that many triplets, with padding.
func (t *trainer[T]) rows(triplets int) int { return kernel.PadRows(t.passes * triplets) }

// padBits returns the number of 16-bit words that kernel.Set.Bits fills for n bits.
func padBits(n int) int { return (n/16 + 31) / 32 * 32 }

// initialise draws the weights and biases of each layer from the uniform distribution over ±1/√(number of inputs).
func (t *trainer[T]) initialise(seed uint64) {
	p := newStream(seed, streamWeights)
	for i := 0; i <= t.depth(); i++ {
		fanIn := t.fanIn(i)
		fanOut := t.fanOut(i)
		bound := 1 / math.Sqrt(float64(fanIn))
		for a := range fanIn {
			for b := range fanOut {
				t.p[t.at(i, a, b)] = T(bound * (2*uniform(p) - 1))
			}
		}

		for b := range fanOut {
			t.p[t.b[i]+b] = T(bound * (2*uniform(p) - 1))
		}
	}
}

// gradient adds to g the gradient of the mean loss over the triplets idx, and returns that loss. data are the
// triplets (packRows). swapped, if not nil, has one value for each of idx: true exchanges y1 and y2.
func (t *trainer[T]) gradient(data []T, idx []int32, swapped []bool) float64 {
	t.prepare()

	for i := 1; i < t.depth(); i++ {
		t.k.Transpose(kernel.MatrixOf(t.wt[i], t.pad[i-1]), kernel.MatrixOf(t.p[t.w[i]:], t.pad[i]), t.pad[i-1], t.pad[i])
	}

	norm := 1 / float64(len(idx)*t.outcomes)

	loss := 0.0
	for begin := 0; begin < len(idx); begin += t.tripBlock {
		end := min(begin+t.tripBlock, len(idx))

		var blockSwapped []bool
		if swapped != nil {
			blockSwapped = swapped[begin:end]
		}

		loss += t.gradientBlock(data, idx[begin:end], blockSwapped, norm)
	}

	return loss
}

// gradientBlock does the work of gradient for one block. norm is the weight of one outcome of a triplet in the mean
// loss.
func (t *trainer[T]) gradientBlock(data []T, idx []int32, swapped []bool, norm float64) float64 {
	rows := t.rows(len(idx))

	var bits [][]uint16
	if t.dropout > 0 {
		bits = t.bits
		for i, b := range t.bits {
			t.k.Bits(b[:padBits(maskRows(t.passes*len(idx))*t.pad[i])], t.dropout, t.lanes)
		}
	}

	loss := t.lossBlock(data, idx, swapped, norm, bits)
	n := t.passes * len(idx)
	ld := t.headN
	clear(t.do[n*ld : rows*ld])

	t.k.AddRows(t.g[t.b[t.depth()]:], t.do, n, ld)
	t.backward(rows)

	return loss
}

// backward adds the gradient of all weights and of the hidden biases to g. do is the gradient of the head's output.
func (t *trainer[T]) backward(rows int) {
	// The weights of the head are stored transposed. So activations and gradients change places in Outer.
	depth := t.depth()
	top := depth - 1
	gradient := kernel.MatrixOf(t.do, t.headN)
	size := kernel.Size{Rows: rows, K: t.headK, N: t.pad[top]}
	t.k.Outer(t.g[t.w[depth]:], nil, gradient, t.h[top], size, t.scale)
	t.k.Back(t.dh[top], gradient, t.p[t.w[depth]:], t.h[top], size, t.scale)

	for i := top; i >= 1; i-- {
		input := kernel.MatrixOf(t.h[i-1], t.pad[i-1])
		size = kernel.Size{Rows: rows, K: t.pad[i-1], N: t.pad[i]}
		t.k.Outer(t.g[t.w[i]:], t.g[t.b[i]:], input, t.dh[i], size, t.scale)

		gradient = kernel.MatrixOf(t.dh[i], t.pad[i])
		size = kernel.Size{Rows: rows, K: t.pad[i], N: t.pad[i-1]}
		t.k.Back(t.dh[i-1], gradient, t.wt[i], t.h[i-1], size, t.scale)
	}

	size = kernel.Size{Rows: rows, K: t.ldIn, N: t.pad[0]}
	t.k.Outer(t.g[t.w[0]:], t.g[t.b[0]:], kernel.MatrixOf(t.z, t.ldIn), t.dh[0], size, 1)
}

// loss returns the mean loss over all triplets in data, without dropout. weight and second are the weights of their
// first and second answers (nil: 1). loss changes only scratch memory.
func (t *trainer[T]) loss(data, weight, second []T) float64 {
	plain := *t // shares the memory of t
	plain.scale = 1
	plain.weight = weight
	plain.second = second
	plain.prepare()
	n := len(data) / (t.inputs + 2*t.outcomes)
	idx := make([]int32, 0, t.tripBlock)

	loss := 0.0
	for begin := 0; begin < n; begin += t.tripBlock {
		idx = idx[:0]
		for i := begin; i < min(begin+t.tripBlock, n); i++ {
			idx = append(idx, int32(i))
		}

		loss += plain.lossBlock(data, idx, nil, 1/float64(n*t.outcomes), nil)
	}

	return loss
}

// lossBlock evaluates the network for a block of triplets. It returns the part of the block in the loss, and fills do
// with the gradient of the loss. norm is the weight of one outcome of a triplet. bits has the dropout bits, and is nil
// without dropout.
func (t *trainer[T]) lossBlock(data []T, idx []int32, swapped []bool, norm float64, bits [][]uint16) float64 {
	d := t.outcomes
	n := t.passes * len(idx)
	rows := t.rows(len(idx))
	t.fill(data, idx, swapped, rows)
	t.fillLossWeights(idx, norm)
	t.forward(rows, bits)

	// Padding has no weight, and values whose loss is finite.
	flat := kernel.PadLane(n * d)
	for i := n * d; i < flat; i++ {
		t.c[i] = 0
		t.mu[i] = 0
		t.raw[i] = 0
		t.t1[i] = 0
		t.t2[i] = 0
	}

	ld := t.headN
	for r := range n {
		o := t.o[r*ld : r*ld+t.headOut]

		mu := t.mu[r*d : (r+1)*d]
		raw := t.raw[r*d : (r+1)*d]
		for j := range mu {
			mu[j] = o[j]
			raw[j] = o[d+j]
		}
	}

	loss := t.k.LossGrad(t.gmu[:flat], t.graw[:flat], t.mu[:flat], t.raw[:flat], t.t1[:flat], t.t2[:flat], t.c[:flat],
		t.beta)

	for r := range n {
		o := t.do[r*ld : r*ld+t.headOut]

		gmu := t.gmu[r*d : (r+1)*d]
		graw := t.graw[r*d : (r+1)*d]
		for j := range gmu {
			o[j] = gmu[j]
			o[d+j] = graw[j]
		}
	}

	return float64(loss)
}

// fillLossWeights fills c with the weight of each row and outcome in the loss. kernel.Set.LossGrad computes
// c·½[ℓ(t1) + ℓ(t2)]. A row without feedback has the weight norm: its targets are y1 and y2 with Symmetrised,
// and twice y1 otherwise. With Symmetrised, each of the two rows with feedback has the weight ½·norm, and otherwise
// the one row has the weight norm.
func (t *trainer[T]) fillLossWeights(idx []int32, norm float64) {
	d := t.outcomes
	count := len(idx)
	n := t.passes * count
	withoutFeedback := T(norm)
	withFeedback := T(norm)
	if t.symmetric {
		withFeedback = T(0.5 * norm)
	}

	for i := range count * d {
		t.c[i] = withoutFeedback
	}

	for i := count * d; i < n*d; i++ {
		t.c[i] = withFeedback
	}

	if t.weight == nil {
		return
	}

	for r := range n {
		weight := t.weight
		if r >= count {
			weight = t.second
		}

		for j := range d {
			t.c[r*d+j] *= weight[idx[r%count]]
		}
	}
}

// fill writes the network rows of a block into z, and their targets into t1 and t2: first all triplets without
// feedback, then all with y1 fed back and, with Symmetrised, all with y2 fed back. It clears the padding up to rows.
func (t *trainer[T]) fill(data []T, idx []int32, swapped []bool, rows int) {
	count := len(idx)
	d := t.outcomes
	width := t.inputs + 2*d // numbers of a triplet
	for i, q := range idx {
		triplet := data[int(q)*width : (int(q)+1)*width]
		x := triplet[:t.inputs]
		y1 := triplet[t.inputs : t.inputs+d]
		y2 := triplet[t.inputs+d:]
		if swapped != nil && swapped[i] {
			y1, y2 = y2, y1
		}

		if !t.symmetric {
			t.fillRow(i, x, nil, y1, y1)
			t.fillRow(count+i, x, y1, y2, y2)
			continue
		}

		t.fillRow(i, x, nil, y1, y2) // the first answer predicts both outcomes
		t.fillRow(count+i, x, y1, y2, y2)
		t.fillRow(2*count+i, x, y2, y1, y1)
	}

	clear(t.z[t.passes*count*t.ldIn : rows*t.ldIn])
}

// fillRow writes network row r: the inputs x, the outcomes fed back, and the two targets. fed is nil if nothing is fed
// back.
func (t *trainer[T]) fillRow(r int, x, fed, target1, target2 []T) {
	z := t.z[r*t.ldIn:][:t.ldIn]
	copy(z, x)

	d := len(target1)
	feedback := z[len(x):][:d]
	t1 := t.t1[r*d:][:d]
	t2 := t.t2[r*d:][:d]
	target2 = target2[:d]
	for j, y := range target1 {
		feedback[j] = t.none
		t1[j] = y
		t2[j] = target2[j]
	}

	copy(feedback, fed)

	if t.flag > 0 {
		z[len(x)+d] = 0
		if fed != nil {
			z[len(x)+d] = 1
		}
	}
}

// step changes the parameters by Adam with the gradient g and the step size rate. It clears g.
func (t *trainer[T]) step(rate float64) {
	t.beta1t = float64(t.beta1t * adamBeta1) // the conversion rounds, so that 1 − β^t is not fused with the product
	t.beta2t = float64(t.beta2t * adamBeta2)
	t.k.Adam(t.p, t.g, t.m, t.v, kernel.AdamStep[T]{
		Beta1: adamBeta1, OneMinusBeta1: T(1 - adamBeta1), Beta2: adamBeta2, OneMinusBeta2: T(1 - adamBeta2),
		Rate: T(rate / (1 - t.beta1t)), RootScale: T(1 / math.Sqrt(1-t.beta2t)), Eps: adamEps,
		Decay: T(1 - float64(rate*t.weightDecay)),
	})
}
