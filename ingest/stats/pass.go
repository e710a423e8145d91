package stats

import (
	"context"
	"errors"
	"io"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Pass is a Reader's samples for someone who reads the recordings of a run once,
// from front to back. It computes what Scan would find from the samples that
// pass, so that the file is not read, and not decompressed, a second time. Stats
// must be called at the end and returns what Scan returns, to the bit: it reads
// what did not pass, and calls Scan if the samples passed in another order or
// are not finite.
//
// Where channels are interleaved in the file, those in no recording are read
// together with the others. A Pass holds up to 16384 samples per channel.
type Pass struct {
	r      ingest.Reader
	run    ingest.Run
	s      *scan   // nil: the account cannot be made of what passes
	failed bool    // a read failed: the Reader may not go on
	per    int     // samples per channel of a block
	at     []int64 // per channel, the sample after those that are in the account
	rest   []int   // channels to read along
	set    []int
	block  account[float64]
	small  account[float32] // of samples that are float32
}

// account holds the samples of blocks that are not full yet.
type account[T floats] struct {
	read  func(channels []int, start int64, dst [][]T) (int, error)
	add   func(c int, x []T)
	carry [][]T
	extra [][]T // of channels read along
}

// NewPass returns a Pass of r. No one else may read r until Stats.
func NewPass(r ingest.Reader, run ingest.Run) *Pass {
	p := &Pass{r: r, run: run}

	var s *scan
	if err := fault.Try(func() { s = newScan(r, run, false) }); err != nil || len(s.used) == 0 || s.part {
		return p
	}

	for c, u := range s.used {
		if !u {
			p.rest = append(p.rest, c)
		}
	}

	if p.ByChannel() {
		p.rest = nil
	} else if len(p.rest) > max(16, len(s.used)/2) {
		return p // too much to hold for one who wants little of the file
	}

	p.s, p.per, p.at = s, s.per, make([]int64, len(s.used))
	for c := range p.at {
		p.at[c] = s.run.Row0
	}

	p.block.read, p.block.add = r.Read, s.add
	if s.narrow != nil {
		p.small.read, p.small.add = s.narrow.Read32, s.add32
	}

	p.block.carry, p.small.carry = make([][]float64, len(p.at)), make([][]float32, len(p.at))
	s.tolerate(true)

	return p
}

// Read implements ingest.Reader.
func (p *Pass) Read(channels []int, start int64, dst [][]float64) (int, error) {
	return pass(p, channels, start, dst, &p.block, p.r.Read)
}

// Exact32 implements ingest.Float32.
func (p *Pass) Exact32() bool {
	r, ok := p.r.(ingest.Float32)
	return ok && r.Exact32()
}

// Read32 implements ingest.Float32; only if Exact32.
func (p *Pass) Read32(channels []int, start int64, dst [][]float32) (int, error) {
	return pass(p, channels, start, dst, &p.small, p.r.(ingest.Float32).Read32)
}

// ByChannel implements ingest.ByChannel.
func (p *Pass) ByChannel() bool {
	r, ok := p.r.(ingest.ByChannel)
	return ok && r.ByChannel()
}

// Stats returns what Scan returns of the run. Where reading failed, Scan reads
// the Reader that again returns, if it is given: one that failed may fail again.
func (p *Pass) Stats(ctx context.Context, again func(context.Context) (ingest.Reader, error)) (
	[]Summary, []ingest.Warning, error,
) {
	if p.s != nil {
		p.finish(ctx)
	}

	if s := p.s; s != nil {
		s.tolerate(false)
		if !slices.ContainsFunc(s.order, func(c int) bool { return s.acc[c].nan > 0 }) {
			stats, warnings := s.verdict()
			return stats, warnings, nil
		}
	}

	r := p.r
	if p.failed && again != nil && ctx.Err() == nil {
		fresh, err := again(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer fresh.Close()
		r = fresh
	}

	return Scan(ctx, r, p.run)
}

// abandon leaves everything to Scan.
func (p *Pass) abandon() {
	p.s.tolerate(false)
	p.s = nil
}

// pass reads, and adds the samples to the account: channels read along come a
// block at a time, so that little of them is held.
func pass[T floats](p *Pass, channels []int, start int64, dst [][]T, a *account[T],
	read func(channels []int, start int64, dst [][]T) (int, error),
) (n int, err error) {
	if p.s == nil || len(dst) == 0 {
		return read(channels, start, dst)
	}

	p.set = append(append(p.set[:0], channels...), p.rest...)
	for i, c := range p.set {
		if slices.Contains(p.set[:i], c) { // twice, or one that is in no recording
			p.abandon()
			return read(channels, start, dst)
		}
	}

	p.reach(p.set, min(start, p.s.row1)) // what the reader leaves out

	if len(p.rest) == 0 || p.s == nil {
		return readTee(p, len(channels), start, dst, read)
	}

	if a.extra == nil {
		a.extra = make([][]T, len(p.rest))
	}

	part := make([][]T, len(p.set))
	for n < len(dst[0]) {
		m := min(p.per, len(dst[0])-n)
		for i := range dst {
			part[i] = dst[i][n : n+m]
		}

		for i := range p.rest {
			a.extra[i] = slices.Grow(a.extra[i][:0], m)[:m]
			part[len(dst)+i] = a.extra[i]
		}

		got, err := readTee(p, len(channels), start+int64(n), part, read)
		if n += got; err != nil || got < m {
			return n, err
		}
	}

	return n, nil
}

// readTee reads p.set and feeds the statistics, or reads the first wanted channels
// of it if the statistics were abandoned.
func readTee[T floats](p *Pass, wanted int, start int64, dst [][]T,
	read func(channels []int, start int64, dst [][]T) (int, error),
) (int, error) {
	if p.s == nil {
		return read(p.set[:wanted], start, dst[:wanted])
	}

	n, err := read(p.set, start, dst)
	if err != nil && !errors.Is(err, io.EOF) {
		p.failed = true
		p.abandon()
		return n, err
	}

	m := int(max(0, min(int64(n), p.s.row1-start)))
	for i, c := range p.set {
		put(p, c, dst[i][:m])
		p.at[c] = max(p.at[c], start+int64(m))
	}

	return n, err
}

// put adds samples of a channel, in blocks that begin where Scan's do.
func put[T floats](p *Pass, c int, x []T) {
	if p.s.narrow != nil {
		fill(&p.small, c, x, p.s.per)
	} else {
		fill(&p.block, c, x, p.s.per)
	}
}

func fill[A, T floats](a *account[A], c int, x []T, per int) {
	for len(x) > 0 {
		if same, ok := any(x).([]A); ok && len(a.carry[c]) == 0 && len(x) >= per {
			a.add(c, same[:per])
			x = x[per:]
			continue
		}

		n := min(per-len(a.carry[c]), len(x))
		if same, ok := any(x).([]A); ok {
			a.carry[c] = append(a.carry[c], same[:n]...)
		} else {
			for _, v := range x[:n] {
				a.carry[c] = append(a.carry[c], A(v)) // a float32 widened, or one stored in a float64
			}
		}

		x = x[n:]

		if len(a.carry[c]) == per {
			a.add(c, a.carry[c])
			a.carry[c] = a.carry[c][:0]
		}
	}
}

// reach adds what lies between the samples that passed and sample to.
func (p *Pass) reach(channels []int, to int64) {
	late := map[int64][]int{} // channels by the sample after those that passed
	for _, c := range channels {
		switch at := p.at[c]; {
		case at > to:
			p.abandon() // back to what has passed already
			return
		case at < to:
			late[at] = append(late[at], c)
		}
	}

	for from, group := range late {
		switch {
		case p.s == nil:
			return
		case p.s.narrow != nil:
			catchUp(p, &p.small, group, from, to)
		default:
			catchUp(p, &p.block, group, from, to)
		}
	}
}

func catchUp[T floats](p *Pass, a *account[T], channels []int, from, to int64) {
	dst := make([][]T, len(channels))
	for from < to {
		n := int(min(int64(p.s.per), to-from))
		for i := range dst {
			dst[i] = slices.Grow(dst[i][:0], n)[:n]
		}

		if got, err := a.read(channels, from, dst); got < n || err != nil && !errors.Is(err, io.EOF) {
			p.failed = true
			p.abandon()
			return
		}

		from += int64(n)
		for i, c := range channels {
			put(p, c, dst[i])
			p.at[c] = from
		}
	}
}

// finish adds what did not pass, and the blocks that are not full.
func (p *Pass) finish(ctx context.Context) {
	for to := p.s.run.Row0; to < p.s.row1; {
		if ctx.Err() != nil {
			p.abandon()
			return
		}

		to = min(to+1<<20, p.s.row1)
		late := slices.DeleteFunc(slices.Clone(p.s.all), func(c int) bool { return p.at[c] >= to })
		if p.reach(late, to); p.s == nil {
			return
		}
	}

	for c := range p.at {
		if x := p.small.carry[c]; len(x) > 0 {
			p.small.add(c, x)
		}

		if x := p.block.carry[c]; len(x) > 0 {
			p.block.add(c, x)
		}
	}
}
