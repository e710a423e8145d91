package netcdf

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// plane gives access to a variable as channels. It implements arrays.Plane.
type plane struct {
	f      *file
	v      *variable
	step   int64   // bytes from a sample of a channel to the next
	others []int64 // lengths of the axes that are not time
	steps  []int64 // bytes from one index to the next along each of these axes
	extent int64   // bytes from the first channel's sample of an instant to the end of the last channel's
}

// layout computes where the elements lie. dims are the lengths of the axes, and axis is the index of the axis that is
// time.
func (p *plane) layout(dims []int64, axis int) {
	step := p.v.size

	steps := make([]int64, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		steps[i] = step
		step *= dims[i]
	}

	if p.v.record {
		steps[0] = p.f.recordSize
	}

	p.step = steps[axis]
	p.extent = p.v.size
	for i, length := range dims {
		if i == axis {
			continue
		}

		p.others = append(p.others, length)
		p.steps = append(p.steps, steps[i])
		p.extent += (length - 1) * steps[i]
	}
}

// offset returns the bytes from the first channel to the given one. Along the axes that are not time, the last index
// runs fastest.
func (p *plane) offset(channel int) int64 {
	offset := int64(0)
	rest := int64(channel)
	for i := len(p.others) - 1; i >= 0; i-- {
		offset += rest % p.others[i] * p.steps[i]
		rest /= p.others[i]
	}

	return offset
}

// block is the number of bytes that are read at a time.
const block = 1 << 16

// Read implements arrays.Plane. If the channels of an instant lie close together, it reads all of them, so that the
// next channel finds its bytes in the window.
func (p *plane) Read(channels []int, start int64, dst [][]float64) error {
	n := int64(len(dst[0]))

	together := p.extent <= p.step && p.extent <= block

	span := p.v.size // bytes that are read of an instant
	if together {
		span = p.extent
	}

	for done := int64(0); done < n; {
		k := min(max(1, (block-span)/p.step+1), n-done)
		for i, c := range channels {
			first := p.v.begin + (start+done)*p.step // offset in the file of the bytes that are read
			skip := p.offset(c)                      // bytes before the channel's first sample among them
			if !together {
				first += skip
				skip = 0
			}

			b, err := p.f.window.Bytes(nil, p.f.src, first, (k-1)*p.step+span, 0)
			if err != nil {
				place := fmt.Sprintf("byte %d", first)
				return &fault.Error{Path: p.f.src.Path, Place: place, Err: fmt.Errorf("read samples: %w", err)}
			}

			raw.Decode(dst[i][done:done+k], b[skip:], kinds[p.v.kind].kind, true, int(p.step))
		}

		done += k
	}

	return nil
}
