package stats

import (
	"context"
	"errors"
	"io"
	"slices"

	"doubletake/ingest"
)

// Pass reads samples for a caller that needs the recordings of a run once, from front to back. It computes the
// results of Scan from the samples that pass through it, so that the file is not read and decompressed a
// second time. At the end the caller must call Stats, which returns the results of Scan, to the bit.
//
// A Pass adds the samples to a scan, in the same blocks as Scan does. It reads samples that the caller skips before it
// adds later samples (reach). Stats reads the samples after the caller's last read (finish). If the channels are
// interleaved in the file, a Pass reads the channels in no recording along with the caller's channels. If the caller
// goes back, a read fails, or a sample is not finite, the Pass abandons its scan, and Stats calls Scan. A Pass keeps up
// to 16384 samples per channel.
type Pass struct {
	r        ingest.Reader
	run      ingest.Run
	s        *scan   // nil: abandoned, or not possible for this run; Stats calls Scan
	failed   bool    // a read failed: r may be unusable
	next     []int64 // [channel]: the sample after those that were added or carried
	along    []int   // channels that are read along with the caller's channels
	set      []int   // channels of the current read: the caller's, then along
	blockLen int     // samples per channel in a block of the scan

	block account[float64]
	small account[float32] // takes the place of block if the scan reads float32
}

// account has the samples that passed and do not fill a block yet.
type account[T floats] struct {
	read  func(channels []int, start int64, dst [][]T) (int, error) // of the Reader
	add   func(channel int, block []T)                              // of the scan
	carry [][]T                                                     // [channel]: samples of the block that is not full
	extra [][]T                                                     // buffer for the channels that are read along
}

// maxAlong is the number of channels that a Pass always reads along. More are read along only if they are at most
// half of the channels of the file.
const maxAlong = 16

// NewPass returns a Pass of r. Nobody else may read r until Stats has returned.
func NewPass(r ingest.Reader, run ingest.Run) *Pass {
	p := &Pass{r: r, run: run}

	s, err := newScan(r, run, refuseNonFinite)
	if err != nil || len(s.used) == 0 || s.part {
		return p // Stats calls Scan, which returns the error
	}

	if !p.ByChannel() {
		for channel, used := range s.used {
			if !used {
				p.along = append(p.along, channel)
			}
		}

		if len(p.along) > max(maxAlong, len(s.used)/2) {
			return &Pass{r: r, run: run} // reading more channels along costs more than Scan
		}
	}

	p.s = s
	p.blockLen = s.blockLen
	p.next = slices.Repeat([]int64{s.run.Row0}, len(s.used))

	p.block.read = r.Read
	p.block.add = s.add
	p.block.carry = make([][]float64, len(s.used))
	if s.narrow != nil {
		p.small.read = s.narrow.Read32
		p.small.add = s.add32
	}

	p.small.carry = make([][]float32, len(s.used))
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

// Read32 implements ingest.Float32. Call it only if Exact32 returns true.
func (p *Pass) Read32(channels []int, start int64, dst [][]float32) (int, error) {
	return pass(p, channels, start, dst, &p.small, p.r.(ingest.Float32).Read32)
}

// ByChannel implements ingest.ByChannel.
func (p *Pass) ByChannel() bool {
	r, ok := p.r.(ingest.ByChannel)
	return ok && r.ByChannel()
}

// Stats returns the results of Scan for the run. If a read has failed, it calls Scan with the Reader that again
// returns, because the old one may fail again. If again is nil, it calls Scan with the old one.
func (p *Pass) Stats(ctx context.Context, again func(context.Context) (ingest.Reader, error)) (
	[]Summary, []ingest.Warning, error,
) {
	if p.s != nil {
		p.finish(ctx)
	}

	if s := p.s; s != nil {
		s.tolerate(false)
		if !slices.ContainsFunc(s.order, func(channel int) bool { return s.acc[channel].nan > 0 }) {
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

// abandon drops the scan, so that Stats will call Scan.
func (p *Pass) abandon() {
	p.s.tolerate(false)
	p.s = nil
}

// pass does the work of Read and Read32: it reads by read into dst, and adds the samples to the scan. It reads
// block by block if channels are read along, so that their buffers stay small. a has these buffers.
func pass[T floats](p *Pass, channels []int, start int64, dst [][]T, a *account[T],
	read func(channels []int, start int64, dst [][]T) (int, error),
) (int, error) {
	if p.s == nil || len(dst) == 0 {
		return read(channels, start, dst)
	}

	p.set = append(p.set[:0], channels...)
	p.set = append(p.set, p.along...)
	for i, channel := range p.set {
		if slices.Contains(p.set[:i], channel) { // the caller reads a channel twice, or one that is read along
			p.abandon()
			return read(channels, start, dst)
		}
	}

	p.reach(p.set, min(start, p.s.row1)) // samples that the caller skips

	if len(p.along) == 0 || p.s == nil {
		return readTee(p, len(channels), start, dst, read)
	}

	if a.extra == nil {
		a.extra = make([][]T, len(p.along))
	}

	count := 0
	part := make([][]T, len(p.set))
	for count < len(dst[0]) {
		size := min(p.blockLen, len(dst[0])-count)
		for i := range dst {
			part[i] = dst[i][count : count+size]
		}

		for i := range p.along {
			a.extra[i] = slices.Grow(a.extra[i][:0], size)[:size]
			part[len(dst)+i] = a.extra[i]
		}

		got, err := readTee(p, len(channels), start+int64(count), part, read)
		count += got
		if err != nil || got < size {
			return count, err
		}
	}

	return count, nil
}

// readTee reads the channels p.set into dst and adds their samples to the scan. If the scan was abandoned, it only
// reads the first wanted channels of p.set, which are the caller's.
func readTee[T floats](p *Pass, wanted int, start int64, dst [][]T,
	read func(channels []int, start int64, dst [][]T) (int, error),
) (int, error) {
	if p.s == nil {
		return read(p.set[:wanted], start, dst[:wanted])
	}

	count, err := read(p.set, start, dst)
	if err != nil && !errors.Is(err, io.EOF) {
		p.failed = true
		p.abandon()
		return count, err
	}

	inRun := int(max(0, min(int64(count), p.s.row1-start))) // samples that belong to the run
	for i, channel := range p.set {
		put(p, channel, dst[i][:inRun])
		p.next[channel] = max(p.next[channel], start+int64(inRun))
	}

	return count, err
}

// put adds samples of a channel to the scan, in blocks that begin at the same samples as the blocks of Scan.
func put[T floats](p *Pass, channel int, samples []T) {
	if p.s.narrow != nil {
		fill(&p.small, channel, samples, p.blockLen)
	} else {
		fill(&p.block, channel, samples, p.blockLen)
	}
}

// fill adds samples of a channel to an account, and each full block to the scan. The types may differ: float64
// samples are only added to an account of float32 if every sample of the file is exactly a float32.
func fill[A, T floats](a *account[A], channel int, samples []T, blockLen int) {
	for len(samples) > 0 {
		same, sameType := any(samples).([]A)
		if sameType && len(a.carry[channel]) == 0 && len(same) >= blockLen {
			a.add(channel, same[:blockLen])
			samples = samples[blockLen:]
			continue
		}

		count := min(blockLen-len(a.carry[channel]), len(samples))
		if sameType {
			a.carry[channel] = append(a.carry[channel], same[:count]...)
		} else {
			for _, v := range samples[:count] {
				a.carry[channel] = append(a.carry[channel], A(v))
			}
		}

		samples = samples[count:]

		if len(a.carry[channel]) == blockLen {
			a.add(channel, a.carry[channel])
			a.carry[channel] = a.carry[channel][:0]
		}
	}
}

// reach reads and adds the samples of the channels between those that passed and sample end. If a channel has
// passed end already, the caller went back, and reach abandons the scan.
func (p *Pass) reach(channels []int, end int64) {
	late := map[int64][]int{} // channels by the first sample to read; the order of the groups does not matter
	for _, channel := range channels {
		next := p.next[channel]
		if next > end {
			p.abandon()
			return
		}

		if next < end {
			late[next] = append(late[next], channel)
		}
	}

	for begin, group := range late {
		switch {
		case p.s == nil:
			return
		case p.s.narrow != nil:
			catchUp(p, &p.small, group, begin, end)
		default:
			catchUp(p, &p.block, group, begin, end)
		}
	}
}

// catchUp reads and adds the samples of the channels from begin up to end. If a read fails, it abandons the
// scan.
func catchUp[T floats](p *Pass, a *account[T], channels []int, begin, end int64) {
	dst := make([][]T, len(channels))
	for begin < end {
		count := int(min(int64(p.blockLen), end-begin))
		for i := range dst {
			dst[i] = slices.Grow(dst[i][:0], count)[:count]
		}

		got, err := a.read(channels, begin, dst)
		if got < count || err != nil && !errors.Is(err, io.EOF) {
			p.failed = true // if the error happens again, Scan returns it
			p.abandon()
			return
		}

		begin += int64(count)
		for i, channel := range channels {
			put(p, channel, dst[i])
			p.next[channel] = begin
		}
	}
}

// finish adds the samples that did not pass, and the blocks that are not full. It abandons the scan if a read fails
// or ctx ends.
func (p *Pass) finish(ctx context.Context) {
	const stretch = 1 << 20 // samples between two looks at ctx
	for end := p.s.run.Row0; end < p.s.row1; {
		if ctx.Err() != nil {
			p.abandon()
			return
		}

		end = min(end+stretch, p.s.row1)
		late := slices.DeleteFunc(slices.Clone(p.s.all), func(channel int) bool { return p.next[channel] >= end })
		p.reach(late, end)
		if p.s == nil {
			return
		}
	}

	for channel := range p.next {
		if samples := p.small.carry[channel]; len(samples) > 0 {
			p.small.add(channel, samples)
		}

		if samples := p.block.carry[channel]; len(samples) > 0 {
			p.block.add(channel, samples)
		}
	}
}
