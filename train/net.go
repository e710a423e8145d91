package train

import (
	"math"
	"slices"
	"unsafe"

	"doubletake/internal/lists"
	"doubletake/train/kernel"
)

// rowBlock is the number of network rows computed together: small enough that
// activations and gradients of a block stay in the cache, a multiple of
// kernel.RowStep, and fixed, because it determines the order of summation.
const rowBlock = 96

// layout is the padded shape of a network: layer 0..len(width)-1 are hidden,
// the head has 2·out columns, means first. Hidden weights are stored [in, out],
// the head's [out, in], which makes its gradient a vector operation along the
// wide side.
type layout struct {
	in, out, flag int // inputs, outcomes, presence bit (0 or 1)
	heads         int // columns of the head
	width         []int

	ldIn  int   // padded first-layer reduction = row stride of the input block
	pad   []int // padded widths
	headK int   // heads padded to KStep: rows of the head's weights
	headN int   // heads padded to Lane: columns of the head's output
	w, b  []int // offsets of weights and biases in the flat parameters
	size  int   // of the flat parameters
}

func newLayout(in, out, flag int, width []int) *layout {
	l := &layout{in: in, out: out, flag: flag, heads: 2 * out, width: width}
	l.ldIn = kernel.PadK(l.in + l.out + l.flag)
	k := l.ldIn
	for _, h := range l.width {
		n := kernel.PadLane(h)
		l.pad = append(l.pad, n)
		l.w = append(l.w, l.size)
		l.size += kernel.PadLane(k * n)
		l.b = append(l.b, l.size)
		l.size += n
		k = n
	}

	l.headK, l.headN = kernel.PadK(l.heads), kernel.PadLane(l.heads)
	l.w = append(l.w, l.size)
	l.size += l.headK * k
	l.b = append(l.b, l.size)
	l.size += l.headN

	return l
}

func (l *layout) depth() int { return len(l.width) }

// fanIn is the number of inputs of layer i (the head is layer depth).
func (l *layout) fanIn(i int) int {
	if i == 0 {
		return l.in + l.out + l.flag
	}
	return l.width[i-1]
}

// fanOut is the number of outputs of layer i.
func (l *layout) fanOut(i int) int {
	if i == l.depth() {
		return l.heads
	}
	return l.width[i]
}

// at is the index in the flat parameters of weight [from, to] of layer i.
func (l *layout) at(i, from, to int) int {
	if i == l.depth() {
		return l.w[i] + to*l.pad[i-1] + from
	}
	return l.w[i] + from*l.pad[i] + to
}

// net is a network with room for one block of rows.
type net[T kernel.Float] struct {
	*layout
	k     *kernel.Set[T]
	p     []T      // parameters, flat
	head  []T      // the head's weights transposed to [in, headN], refreshed by prepare
	z     []T      // input block, rows × ldIn
	h     [][]T    // activations of the hidden layers, rows × pad
	o     []T      // head's output, rows × headN
	keep  []uint16 // all ones: no dropout
	scale T        // 1/(1−dropout) in training, else 1: dropped activations are scaled where they are used
	block int      // rows there is room for
}

// aligned returns n zeros that begin on a cache line.
func aligned[T kernel.Float](n int) []T {
	size := int(unsafe.Sizeof(T(0)))
	s := make([]T, n+64/size)

	skip := 0
	for uintptr(unsafe.Pointer(&s[skip]))%64 != 0 {
		skip++
	}

	return s[skip : skip+n : skip+n]
}

func newNet[T kernel.Float](l *layout, k *kernel.Set[T], params []T, block int) *net[T] {
	n := &net[T]{layout: l, k: k, p: params, block: block, scale: 1}
	n.z = aligned[T](block * l.ldIn)
	n.h = lists.Each(l.pad, func(w int) []T { return aligned[T](block * w) })

	last := l.pad[l.depth()-1]
	n.head = aligned[T](last * l.headN)
	n.o = aligned[T](block * l.headN)
	n.keep = slices.Repeat([]uint16{math.MaxUint16}, slices.Max(l.pad)/kernel.Lane)

	return n
}

// prepare must follow any change of the parameters.
func (n *net[T]) prepare() {
	d := n.depth()
	last := n.pad[d-1]
	n.k.Transpose(n.head, n.headN, n.p[n.w[d]:], last, n.headK, last)
}

// forward evaluates the first rows (a multiple of RowStep) of z into o. bits
// are the dropout bits of the hidden layers, nil outside training.
func (n *net[T]) forward(rows int, bits [][]uint16) {
	a, lda, k, alpha := n.z, n.ldIn, n.ldIn, T(1)
	for i, h := range n.h {
		keep, stride := n.keep, 0
		if bits != nil {
			keep, stride = bits[i], n.pad[i]/kernel.Lane
		}

		n.k.DenseReLU(h, a, lda, n.p[n.w[i]:], n.p[n.b[i]:], keep, stride, rows, k, n.pad[i], alpha)
		a, lda, k, alpha = h, n.pad[i], n.pad[i], n.scale
	}

	d := n.depth()
	n.k.Dense(n.o, a, lda, n.head, n.p[n.b[d]:], rows, k, n.headN, alpha)
}

// trainer adds gradients and Adam to a net.
type trainer[T kernel.Float] struct {
	net[T]
	beta      T
	tripBlock int // triplets in a block
	passes    int // network rows per triplet

	g, m, v []T   // gradient, first and second moment, like p
	wt      [][]T // weights of hidden layers 1.. transposed
	dh      [][]T // gradients of the hidden layers' pre-activations
	do      []T   // gradient of the head's output

	// The loss sees mean and raw variances of all rows as dense arrays.
	mu, raw, gmu, graw, t1, t2, c []T

	dropout uint16 // of 65536
	lanes   *kernel.Lanes
	bits    [][]uint16 // keep bits of the hidden layers

	weight, second []T // of the first and the second answer of each triplet, 1 on average; nil: 1
	none           T   // what feedback inputs read without feedback
	symmetric      bool
	single         bool    // the feedback weights stay zero
	beta1t, beta2t float64 // β^t
	weightDecay    float64
}

const (
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)

func newTrainer[T kernel.Float](l *layout, k *kernel.Set[T], cfg Config) *trainer[T] {
	t := &trainer[T]{net: *newNet(l, k, aligned[T](l.size), rowBlock), beta: T(cfg.Beta)}
	t.symmetric = cfg.Pairs == Symmetrised
	t.passes = 2
	if t.symmetric {
		t.passes = 3
	}

	t.tripBlock = rowBlock / t.passes
	t.g, t.m, t.v = aligned[T](l.size), aligned[T](l.size), aligned[T](l.size)
	for i, w := range l.pad {
		t.dh = append(t.dh, aligned[T](rowBlock*w))

		var wt []T
		if i > 0 {
			wt = aligned[T](w * l.pad[i-1])
		}

		t.wt = append(t.wt, wt)
	}

	t.do = aligned[T](rowBlock * l.headN)

	flat := kernel.PadLane(rowBlock * l.out)
	for _, s := range []*[]T{&t.mu, &t.raw, &t.gmu, &t.graw, &t.t1, &t.t2, &t.c} {
		*s = aligned[T](flat)
	}

	t.dropout = uint16(math.Round(cfg.Dropout * 65536))
	if t.dropout > 0 {
		t.scale = T(65536 / (65536 - float64(t.dropout)))
		t.lanes = kernel.NewLanes(streamSeed(cfg.Seed, streamDropout))
		t.bits = lists.Each(l.pad, func(w int) []uint16 { return make([]uint16, padBits(rowBlock*w)) })
	}

	if cfg.Feedback == Constant {
		t.none = T(cfg.FeedbackValue)
	}

	t.beta1t, t.beta2t = 1, 1
	t.weightDecay = cfg.WeightDecay

	return t
}

// maskRows is the number of rows that dropout bits are drawn for, n or some more. It is
// part of the results: later bits are other ones if fewer are drawn.
func maskRows(n int) int { return (n + 11) / 12 * 12 }

// rows is the number of network rows of a block of triplets.
func (t *trainer[T]) rows(triplets int) int { return kernel.PadRows(t.passes * triplets) }

// padBits is the number of 16-bit words that kernel.Set.Bits fills for n bits.
func padBits(n int) int { return (n/16 + 31) / 32 * 32 }

// initialise draws weights and biases from U(±1/√fan_in).
func (t *trainer[T]) initialise(seed uint64) {
	p := newStream(seed, streamWeights)
	for i := 0; i <= t.depth(); i++ {
		in, out := t.fanIn(i), t.fanOut(i)
		bound := 1 / math.Sqrt(float64(in))
		for a := range in {
			for b := range out {
				t.p[t.at(i, a, b)] = T(bound * (2*uniform(p) - 1))
			}
		}

		for b := range out {
			t.p[t.b[i]+b] = T(bound * (2*uniform(p) - 1))
		}
	}
}

// gradient adds the gradient of the mean loss over the triplets idx to g and
// returns that loss. data holds in + 2·out numbers a row: x, y1, y2. swapped,
// unless nil, exchanges y1 and y2 of the triplets where it is true.
func (t *trainer[T]) gradient(data []T, idx []int32, swapped []bool) float64 {
	t.prepare()

	for i := 1; i < t.depth(); i++ {
		t.k.Transpose(t.wt[i], t.pad[i-1], t.p[t.w[i]:], t.pad[i], t.pad[i-1], t.pad[i])
	}

	norm := 1 / float64(len(idx)*t.out)

	loss := 0.0
	for s := 0; s < len(idx); s += t.tripBlock {
		e := min(s+t.tripBlock, len(idx))

		var sw []bool
		if swapped != nil {
			sw = swapped[s:e]
		}

		loss += t.gradientBlock(data, idx[s:e], sw, norm)
	}

	return loss
}

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
	n, ld := t.passes*len(idx), t.headN
	clear(t.do[n*ld : rows*ld])

	t.k.AddRows(t.g[t.b[t.depth()]:], t.do, n, ld)
	t.backward(rows)

	return loss
}

// backward adds the gradient of the weights and of the hidden biases to g, from that
// of the head's output in do.
func (t *trainer[T]) backward(rows int) {
	// Head: its weights are stored transposed, so the roles of activations
	// and gradients in Outer are exchanged.
	depth, ld := t.depth(), t.headN
	top := depth - 1
	t.k.Outer(t.g[t.w[depth]:], nil, t.do, ld, t.h[top], rows, t.headK, t.pad[top], t.scale)
	t.k.Back(t.dh[top], t.do, ld, t.p[t.w[depth]:], t.h[top], rows, t.headK, t.pad[top], t.scale)

	for i := top; i >= 1; i-- {
		t.k.Outer(t.g[t.w[i]:], t.g[t.b[i]:], t.h[i-1], t.pad[i-1], t.dh[i], rows, t.pad[i-1], t.pad[i], t.scale)
		t.k.Back(t.dh[i-1], t.dh[i], t.pad[i], t.wt[i], t.h[i-1], rows, t.pad[i], t.pad[i-1], t.scale)
	}

	t.k.Outer(t.g[t.w[0]:], t.g[t.b[0]:], t.z, t.ldIn, t.dh[0], rows, t.ldIn, t.pad[0], 1)
}

// loss returns the mean loss over all rows of data, weighted by weight and second
// (nil: 1), with the network as it is, without dropout. It changes nothing that a training reads.
func (t *trainer[T]) loss(data, weight, second []T) float64 {
	t.prepare()
	defer func(s T, w, w2 []T) { t.scale, t.weight, t.second = s, w, w2 }(t.scale, t.weight, t.second)
	t.scale, t.weight, t.second = 1, weight, second
	n := len(data) / (t.in + 2*t.out)
	idx := make([]int32, 0, t.tripBlock)

	loss := 0.0
	for s := 0; s < n; s += t.tripBlock {
		idx = idx[:0]
		for i := s; i < min(s+t.tripBlock, n); i++ {
			idx = append(idx, int32(i))
		}

		loss += t.lossBlock(data, idx, nil, 1/float64(n*t.out), nil)
	}

	return loss
}

// lossBlock predicts a block and returns its part of the loss, with the loss's
// gradient in do. bits are the dropout bits, nil for none.
func (t *trainer[T]) lossBlock(data []T, idx []int32, swapped []bool, norm float64, bits [][]uint16) float64 {
	B, d := len(idx), t.out
	n := t.passes * B
	rows := t.rows(B)
	t.fill(data, idx, swapped, rows)

	flat := kernel.PadLane(n * d)

	// The kernel's loss is c·½[ℓ(t1)+ℓ(t2)].
	first, rest := T(norm), T(norm)
	if t.symmetric {
		rest = T(0.5 * norm)
	}

	for i := range B * d {
		t.c[i] = first
	}

	for i := B * d; i < n*d; i++ {
		t.c[i] = rest
	}

	if t.weight != nil {
		for r := range n {
			weight := t.weight
			if r >= B {
				weight = t.second
			}

			for j := range d {
				t.c[r*d+j] *= weight[idx[r%B]]
			}
		}
	}

	t.forward(rows, bits)

	// Padding: weight zero, and a prediction that stays finite.
	for i := n * d; i < flat; i++ {
		t.c[i], t.mu[i], t.raw[i], t.t1[i], t.t2[i] = 0, 0, 0, 0, 0
	}

	ld := t.headN
	for r := range n {
		o := t.o[r*ld : r*ld+t.heads]

		mu, raw := t.mu[r*d:(r+1)*d], t.raw[r*d:(r+1)*d]
		for j := range mu {
			mu[j] = o[j]
			raw[j] = o[d+j]
		}
	}

	loss := t.k.LossGrad(t.gmu[:flat], t.graw[:flat], t.mu[:flat], t.raw[:flat], t.t1[:flat], t.t2[:flat], t.c[:flat],
		t.beta)

	for r := range n {
		o := t.do[r*ld : r*ld+t.heads]

		gmu, graw := t.gmu[r*d:(r+1)*d], t.graw[r*d:(r+1)*d]
		for j := range gmu {
			o[j] = gmu[j]
			o[d+j] = graw[j]
		}
	}

	return float64(loss)
}

// fill writes the input rows and targets of a block: all triplets without
// feedback, then fed with y1, then (symmetrised) fed with y2.
func (t *trainer[T]) fill(data []T, idx []int32, swapped []bool, rows int) {
	B, in, d, ld := len(idx), t.in, t.out, t.ldIn
	row := in + 2*d
	for i, q := range idx {
		src := data[int(q)*row : (int(q)+1)*row]
		x, y1, y2 := src[:in], src[in:in+d], src[in+d:]
		if swapped != nil && swapped[i] {
			y1, y2 = y2, y1
		}

		z := t.z[i*ld:][:ld]
		for j := range in { // faster than copy, and rows wait for memory together
			z[j] = x[j]
		}

		t1, t2 := t.t1[i*d:][:len(y1)], t.t2[i*d:][:len(y1)]
		for j := in; j < in+d; j++ {
			z[j] = t.none
		}

		f := t.z[(B+i)*ld:][:ld]
		for j := range in {
			f[j] = x[j]
		}

		fed, next1, next2 := f[in:][:len(y1)], t.t1[(B+i)*d:][:len(y1)], t.t2[(B+i)*d:][:len(y1)]
		for j, y := range y1 {
			fed[j], t1[j], t2[j], next1[j], next2[j] = y, y, y, y2[j], y2[j]
		}

		if t.flag > 0 {
			z[in+d], f[in+d] = 0, 1
		}

		if !t.symmetric {
			continue
		}

		f = t.z[(2*B+i)*ld:][:ld]
		for j := range in {
			f[j] = x[j]
		}

		fed, next1, next2 = f[in:][:len(y2)], t.t1[(2*B+i)*d:][:len(y2)], t.t2[(2*B+i)*d:][:len(y2)]
		for j, y := range y2[:len(y1)] {
			fed[j], t2[j], next1[j], next2[j] = y, y, y1[j], y1[j]
		}

		if t.flag > 0 {
			f[in+d] = 1
		}
	}

	clear(t.z[t.passes*B*ld : rows*ld])
}

// step applies Adam with the gathered gradient, which it clears.
func (t *trainer[T]) step(rate float64) {
	t.beta1t = float64(t.beta1t * adamBeta1) // rounded before 1 − β^t: no fused step
	t.beta2t = float64(t.beta2t * adamBeta2)
	t.k.Adam(t.p, t.g, t.m, t.v, kernel.AdamStep[T]{
		Beta1: adamBeta1, OneMinusBeta1: T(1 - adamBeta1), Beta2: adamBeta2, OneMinusBeta2: T(1 - adamBeta2),
		Rate: T(rate / (1 - t.beta1t)), RootScale: T(1 / math.Sqrt(1-t.beta2t)), Eps: adamEps,
		Decay: T(1 - float64(rate*t.weightDecay)),
	})
}
