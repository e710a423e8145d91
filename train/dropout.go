package train

import (
	"context"
	"fmt"
	"math"

	"doubletake/train/kernel"
)

// streamPredict is the stream of dropout masks at prediction; see random.go.
const streamPredict = 6

// PredictDropout evaluates the first answer with dropout left on, samples times
// a condition (Gal & Ghahramani 2016): mu is the mean of the sampled means,
// variance the mean of the sampled variances (aleatoric), spread the population
// variance of the sampled means (epistemic); n×Out each, own units and unit².
//
// One set of masks, drawn from seed, serves every condition, so that a
// condition's numbers depend neither on which others are asked nor on their
// order. With Config.Dropout zero the spread is zero. samples below 2 is an
// error, as is a ctx that is done; it panics if len(x) is not a multiple of In.
func (m *Model) PredictDropout(ctx context.Context, x []float64, samples int, seed uint64) (mu, variance,
	spread []float64, err error,
) {
	if samples < 2 || samples > 1e6 {
		return nil, nil, nil, fmt.Errorf("dropout samples: expected 2 to 1e6, found %d", samples)
	}

	n, d := m.rows(x), m.Out
	e := newEvaluator(m)
	xs := e.scaleX(x)
	masks := e.masks(samples, seed)
	mu, variance, spread = make([]float64, n*d), make([]float64, n*d), make([]float64, n*d)
	m1, v1 := make([]float64, evalBlock*d), make([]float64, evalBlock*d)

	plain := make([]float64, d)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, fmt.Errorf("predict: stopped at condition %d of %d: %w", i+1, n, err)
		}

		xi := xs[i*m.In : (i+1)*m.In]
		for s, b := 0, 0; s < samples; s, b = s+evalBlock, b+1 {
			rows := min(evalBlock, samples-s)
			for r := range rows {
				z := e.z[r*e.ldIn : (r+1)*e.ldIn]
				clear(z)
				copy(z, xi)

				for j := range d {
					z[e.in+j] = e.none()
				}
			}

			e.run(rows, masks[b], m1[:rows*d], v1[:rows*d])

			if s == 0 {
				copy(plain, m1) // any origin near the mean saves digits
			}

			for r := range rows {
				for j := range d {
					c := m1[r*d+j] - plain[j]
					mu[i*d+j] += c
					spread[i*d+j] += float64(c * c)
					variance[i*d+j] += v1[r*d+j]
				}
			}
		}

		for j := range d {
			k, t, std := i*d+j, float64(samples), m.out.Std[j]
			c := mu[k] / t
			spread[k] = math.Max(0, spread[k]/t-float64(c*c)) * std * std
			mu[k] = float64((plain[j]+c)*std) + m.out.Mean[j]
			variance[k] = variance[k] / t * std * std
		}
	}

	return mu, variance, spread, nil
}

// masks draws the keep bits of every layer for blocks of samples.
func (e *evaluator) masks(samples int, seed uint64) [][][]uint16 {
	drop := uint16(math.Round(e.m.Config.Dropout * 65536))
	if drop == 0 {
		e.scale = 1
	} else {
		e.scale = float32(65536 / (65536 - float64(drop)))
	}

	lanes := kernel.NewLanes(streamSeed(seed, streamPredict))

	var out [][][]uint16
	for s := 0; s < samples; s += evalBlock {
		n := min(evalBlock, samples-s)

		var block [][]uint16
		for _, w := range e.pad {
			b := make([]uint16, padBits(max(maskRows(n), kernel.PadRows(n))*w))
			e.k.Bits(b[:padBits(maskRows(n)*w)], drop, lanes)
			block = append(block, b)
		}

		out = append(out, block)
	}

	return out
}
