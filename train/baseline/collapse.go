package baseline

import "doubletake/train/triplets"

// collapsed are the distinct conditions of a set with the means of all their
// measurements, of which weighted pairs of repeats count each once.
type collapsed struct {
	n     int
	index []int     // of each row, its condition
	x, y  []float64 // n×In, n×Out
	count []float64 // measurements, two a pair
}

func collapse(d triplets.Set) collapsed {
	index, x := triplets.Index(d.X, d.In)
	c := collapsed{n: len(x) / d.In, index: index, x: x}
	c.y, c.count = make([]float64, c.n*d.Out), make([]float64, c.n)

	for i, k := range index {
		w := triplets.WeightAt(d.Weight, i)
		for j := range d.Out {
			c.y[k*d.Out+j] += w * (d.Y1[i*d.Out+j] + d.Y2[i*d.Out+j])
		}

		c.count[k] += 2 * w
	}

	for k := range c.y {
		c.y[k] /= c.count[k/d.Out]
	}

	return c
}
