package train

import (
	"math"
	"slices"
	"unsafe"

	"doubletake/train/kernel"
)

// rowBlock is the number of network rows that a trainer computes together. It is small enough that the activations and
// gradients of a block stay in the cache. It must be a multiple of kernel.RowStep, and must not change, because it
// determines the order of summation.
const rowBlock = 96

// layout is the shape of a network and the places of its parameters in one slice. Layers 0 … depth−1 are hidden.
// Layer depth is the head: its outputs are the means, then the raw variances. The weights of a hidden layer are stored
// [input][output]. The head has few outputs and many inputs. Its weights are stored [output][input], because kernels
// work along the last index. Package kernel requires padding.
type layout struct {
	inputs, outcomes int
	flag             int   // number of inputs that say whether an outcome is fed back: 0 or 1
	headOut          int   // number of outputs of the head, 2·outcomes
	width            []int // widths of the hidden layers, of which there is at least one

	ldIn  int   // number of inputs of layer 0, padded: the row stride of its input
	pad   []int // widths of the hidden layers, padded
	headK int   // headOut padded to kernel.KStep: rows of the head's weights
	headN int   // headOut padded to kernel.Lane: columns of the head's output
	w, b  []int // [layer]: offset of its weights, and of its biases, in the parameters
	size  int   // number of parameters, with padding
}

// newLayout returns the layout of a network with hidden layers of those widths.
func newLayout(inputs, outcomes, flag int, width []int) *layout {
	l := &layout{inputs: inputs, outcomes: outcomes, flag: flag, headOut: 2 * outcomes, width: width}
	l.ldIn = kernel.PadK(l.inputs + l.outcomes + l.flag)
	previous := l.ldIn // padded width of the layer before
	for _, h := range l.width {
		padded := kernel.PadLane(h)
		l.pad = append(l.pad, padded)
		l.w = append(l.w, l.size)
		l.size += previous * padded
		l.b = append(l.b, l.size)
		l.size += padded
		previous = padded
	}

	l.headK = kernel.PadK(l.headOut)
	l.headN = kernel.PadLane(l.headOut)
	l.w = append(l.w, l.size)
	l.size += l.headK * previous
	l.b = append(l.b, l.size)
	l.size += l.headN

	return l
}

// depth returns the number of hidden layers.
func (l *layout) depth() int { return len(l.width) }

// fanIn returns the number of inputs of layer i.
func (l *layout) fanIn(i int) int {
	if i == 0 {
		return l.inputs + l.outcomes + l.flag
	}
	return l.width[i-1]
}

// fanOut returns the number of outputs of layer i.
func (l *layout) fanOut(i int) int {
	if i == l.depth() {
		return l.headOut
	}
	return l.width[i]
}

// at returns the index in the parameters of the weight from input source to output target of layer i.
func (l *layout) at(i, source, target int) int {
	if i == l.depth() {
		return l.w[i] + target*l.pad[i-1] + source
	}
	return l.w[i] + source*l.pad[i] + target
}

// net is a network with memory for one block of rows. A row is one input of the network with its activations. The
// caller fills z, and forward computes h and o.
type net[T kernel.Float] struct {
	*layout
	k     *kernel.Set[T]
	p     []T      // parameters, in the places of layout
	head  []T      // the head's weights as [input][headN outputs], which prepare copies from p
	z     []T      // inputs: x, then the outcomes fed back, then the flag; rows × ldIn
	h     [][]T    // [hidden layer]: activations, rows × pad
	o     []T      // output of the head, rows × headN
	keep  []uint16 // dropout bits that keep every unit
	scale T        // factor of the activations where the next layer reads them: 1/(1−dropout) in training, else 1
	block int      // greatest number of rows
}

// cacheLine is the size of a line of the processor's cache in bytes.
const cacheLine = 64

// aligned returns a slice of n zeros that begins at a cache line, so that vectors of padded rows do not cross lines.
func aligned[T kernel.Float](n int) []T {
	size := int(unsafe.Sizeof(T(0)))
	s := make([]T, n+cacheLine/size)

	skip := 0
	for uintptr(unsafe.Pointer(&s[skip]))%cacheLine != 0 {
		skip++
	}

	return s[skip : skip+n : skip+n]
}

// newNet returns a network with those parameters and with memory for block rows.
func newNet[T kernel.Float](l *layout, k *kernel.Set[T], params []T, block int) *net[T] {
	n := &net[T]{layout: l, k: k, p: params, block: block, scale: 1}
	n.z = aligned[T](block * l.ldIn)
	for _, w := range l.pad {
		n.h = append(n.h, aligned[T](block*w))
	}

	last := l.pad[l.depth()-1]
	n.head = aligned[T](last * l.headN)
	n.o = aligned[T](block * l.headN)
	n.keep = slices.Repeat([]uint16{math.MaxUint16}, slices.Max(l.pad)/kernel.Lane)

	return n
}

// prepare copies the weights of the head from p. Call it after any change of the parameters.
func (n *net[T]) prepare() {
	d := n.depth()
	last := n.pad[d-1]
	n.k.Transpose(kernel.MatrixOf(n.head, n.headN), kernel.MatrixOf(n.p[n.w[d]:], last), n.headK, last)
}

// forward evaluates the first rows of z. rows is a multiple of kernel.RowStep. bits has the dropout bits of each hidden
// layer, one row of bits for each row of the network. Without dropout bits is nil: all rows then share the bits n.keep.
func (n *net[T]) forward(rows int, bits [][]uint16) {
	input := n.z       // of the layer
	width := n.ldIn    // of its rows, with padding
	inputScale := T(1) // dropout scales activations, and not the inputs of the network
	for i, h := range n.h {
		keep := kernel.Keep{Bits: n.keep}
		if bits != nil {
			keep = kernel.Keep{Bits: bits[i], Stride: n.pad[i] / kernel.Lane}
		}

		weights := n.p[n.w[i]:]
		bias := n.p[n.b[i]:]
		size := kernel.Size{Rows: rows, K: width, N: n.pad[i]}
		n.k.DenseReLU(h, kernel.MatrixOf(input, width), weights, bias, keep, size, inputScale)
		input = h
		width = n.pad[i]
		inputScale = n.scale
	}

	d := n.depth()
	size := kernel.Size{Rows: rows, K: width, N: n.headN}
	n.k.Dense(n.o, kernel.MatrixOf(input, width), n.head, n.p[n.b[d]:], size, inputScale)
}
