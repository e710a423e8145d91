package honest

import (
	"cmp"
	"context"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/baseline"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// maxRivalRows is the number of conditions up to which rivals are judged.
const maxRivalRows = 4000

// rivals judges simple methods by the left-out groups left, from which c was learned, of
// the training rows train: least squares and the nearest group, each fitted to the other
// groups, and intervals about the model's mean from its errors on the others. There are none
// with fewer than three groups, nor of a method that nothing can be learned with.
func rivals(ctx context.Context, s triplets.Set, g Grouping, train []int, left []LeftOut, c *interval.Calibration,
) []interval.Rival {
	conditions := 0
	for _, l := range left {
		conditions += len(l.conditions())
		if rows, _ := g.apart(train, l.Name); len(rows) != l.N {
			return nil // the model was judged on some of them
		}
	}

	if c.K < scale.MinGroups || conditions > maxRivalRows {
		return nil
	}

	var out []interval.Rival
	s.Group = g.Of
	z := scale.NormalQuantile(c.Level)
	for _, m := range []struct {
		name string
		baseline.Method
	}{{"linear", baseline.Linear{}}, {"nearest-group", baseline.NearestGroup{}}} {
		var mu, half [][]float64 // of each group
		for _, l := range left {
			rows, rest := g.apart(train, l.Name)
			fitted, err := m.Fit(ctx, s.Select(rest), 0)
			fault.Raise(ctx.Err())
			if err != nil {
				break
			}

			p := fault.Get(fitted.Predict(ctx, s.Select(rows).X))
			for k, v := range p.Total {
				p.Total[k] = z * math.Sqrt(v)
			}

			mu, half = append(mu, p.Mu), append(half, p.Total)
		}

		if len(mu) == len(left) {
			out = append(out, rival(m.name, left, c, mu, half))
		}
	}

	out = append(out, conformalRival("conformal", false, left, c), conformalRival("conformal-relative", true, left, c))

	if c.Scale.Gamma != 0 {
		out = append(out, groupsAlone(left, c))
	}

	return slices.DeleteFunc(out, func(r interval.Rival) bool { // of models without errors or deviations
		v := r.Score + r.Error.Ratio + r.Width.Ratio + r.Error.SE + r.Width.SE
		return math.IsNaN(v) || math.IsInf(v, 0)
	})
}

// apart lists the rows of the named group, and the others.
func (g Grouping) apart(rows []int, name string) (of, rest []int) {
	return lists.Split(rows, func(i int) bool { return g.Names[g.Of[i]] == name })
}

// conformalRival puts about the model's mean the quantile of its errors on the other groups,
// or of these over the deviations that it states.
func conformalRival(name string, relative bool, left []LeftOut, c *interval.Calibration) interval.Rival {
	unit := func(l LeftOut, k int) float64 {
		if relative {
			return math.Sqrt(l.Claim[k] + l.Noise[k])
		}
		return 1
	}

	out := len(c.Deviation)
	var mu, half [][]float64
	for h, l := range left {
		quantile := make([]float64, out)
		for j := range quantile {
			var size [][]float64
			for o, l := range left {
				if o == h {
					continue
				}

				var v []float64
				for k := j; k < len(l.Mu); k += out {
					v = append(v, math.Abs(l.Y1[k]-l.Mu[k])/unit(l, k), math.Abs(l.Y2[k]-l.Mu[k])/unit(l, k))
				}

				size = append(size, v)
			}

			quantile[j] = GroupQuantile(size, c.Level)
		}

		w := lists.Make(len(l.Mu), func(k int) float64 { return quantile[k%out] * unit(l, k) })
		mu, half = append(mu, l.Mu), append(half, w)
	}

	r := rival(name, left, c, mu, half)
	r.EBy, r.Error = nil, interval.Against{} // the mean is the model's

	return r
}

// groupsAlone are the intervals that the left-out groups make without the rises of E|cov|.
func groupsAlone(left []LeftOut, c *interval.Calibration) interval.Rival {
	groups := lists.Each(left, func(l LeftOut) scale.Group { return l.group(c.Deviation) })
	_, without := scale.Learn(groups, len(c.Deviation), c.Scale.Prior, c.Scale.Noise)
	r := interval.Rival{Method: "plain"}

	var plain, own []float64
	for h, l := range left {
		plain = append(plain, groupResult(l, c.Deviation, without[h], c.Level).Score)
		own = append(own, c.Groups[h].Score)
		r.Score += plain[h] / float64(len(left))
	}

	r.Width = against(plain, own)

	return r
}

// rival compares means and half widths at the left-out groups with the model's.
func rival(name string, left []LeftOut, c *interval.Calibration, mu, half [][]float64) interval.Rival {
	out := len(c.Deviation)
	r := interval.Rival{Method: name, EBy: make([]float64, out)}
	var rms, own, scores, calibrated []float64
	for h, l := range left {
		var square, model, score float64
		n, groups := float64(2*len(l.Mu)), float64(len(left))
		for k, m := range mu[h] {
			s := c.Deviation[k%out]
			r.EBy[k%out] += (l.Y1[k] - m) * (l.Y2[k] - m) / (s * s) / float64(l.N) / groups
			for _, y := range [2]float64{l.Y1[k], l.Y2[k]} {
				a, b := (y-m)/s, (y-l.Mu[k])/s
				w, _ := interval.Winkler(y, m, half[h][k], c.Level)
				square, model, score = square+a*a/n, model+b*b/n, score+w/s/n
			}
		}

		r.Score += score / groups
		rms, own = append(rms, math.Sqrt(square)), append(own, math.Sqrt(model))
		scores, calibrated = append(scores, score), append(calibrated, c.Groups[h].Score)
	}

	r.Error, r.Width = against(rms, own), against(scores, calibrated)

	return r
}

// against compares numbers of the same groups.
func against(rival, model []float64) (a interval.Against) {
	n := float64(len(rival))
	var sum, of float64
	for h, v := range rival {
		sum, of, a.More = sum+v, of+model[h], a.More+(v-model[h])/n
	}

	for h, v := range rival {
		d := v - model[h] - a.More
		a.SE += d * d / n / (n - 1)
	}

	a.SE, a.Ratio = math.Sqrt(a.SE), sum/of

	return a
}

// GroupQuantile returns the size that a value of one more group exceeds with the
// probability 1 − level, if that group is like the K given ones: each of the K + 1 weighs the
// same, and in the new one nothing is known (Lee, Barber & Willett 2023). Above the level
// K/(K+1) no finite size does; the largest has that level.
func GroupQuantile(groups [][]float64, level float64) float64 {
	type weighed struct{ size, weight float64 }

	var all []weighed
	n := float64(len(groups))
	for _, sizes := range groups {
		for _, s := range sizes {
			all = append(all, weighed{s, 1 / float64(len(sizes)) / (n + 1)})
		}
	}

	slices.SortFunc(all, func(a, b weighed) int { return cmp.Compare(a.size, b.size) })

	sum := 0.0
	for _, a := range all {
		if sum += a.weight; sum >= level-1e-12 {
			return a.size
		}
	}

	return all[len(all)-1].size
}
