package main

import (
	"context"
	"math"
	"strconv"
	"strings"

	"doubletake/train/honest/interval"
)

// judged is a held-out set with a calibration.
type judged struct {
	data, base string
	*interval.Result
}

// campaign is the kind of data, without the number of the simulated campaign.
func (j judged) campaign() string { return strings.TrimRight(j.data, "0123456789") }

// intervals makes the table of all held-out sets of a configuration whose experiments are
// named DATA-BASE, and that of each base on each kind of data. coverage_before is that of the
// base's own normal intervals of 95 %, the others are of the calibrated intervals; width,
// scores and CRPS are in deviations of the training outcomes.
func intervals(_ context.Context, r *results) ([]*sheet, error) {
	s := &sheet{head: []string{
		"data", "base", "split", "held_out", "measured", "k", "level", "r2", "coverage_before", "coverage_68", "coverage_90",
		"coverage_95", "coverage_98", "width_over_spread", "score_before", "score_after", "score_model_free", "crps",
		"sum_e_ratio_before", "sum_e_ratio_after", "sum_e_ratio_after_se", "left_out_maximum_covers", "absent",
	}}

	var list []judged
	for _, e := range r.all {
		data, base, _ := strings.Cut(e.Name, "-")
		for _, split := range e.Splits {
			if split.Honest == nil {
				continue
			}

			j := judged{data, base, split.Honest}

			row := []string{data, base, split.Name, split.HeldOut, strconv.FormatBool(e.Data == "measured")}
			if j.Absent == "" {
				list = append(list, j)
				row = append(row, j.numbers()...)
			} else {
				row = append(row, make([]string, 17)...)
			}

			s.add(append(row, j.Absent)...)
		}
	}

	return []*sheet{s, summaries(list)}, nil
}

// numbers are the set's columns from k on, without the last.
func (j judged) numbers() []string {
	return []string{
		strconv.Itoa(j.Calibration.K),
		digits(j.Calibration.Level, 4),
		digits(j.Record.R2, 4),
		digits(j.Record.Before.Coverage, 4),
		digits(j.Record.At[0], 4),
		digits(j.Record.At[1], 4),
		digits(j.Record.At[2], 4),
		digits(j.Record.At[3], 4),
		digits(j.Record.WidthOverSpread, 4),
		digits(j.Record.Before.Score, 4),
		digits(j.Record.After.Score, 4),
		digits(j.Record.ModelFree.Score, 4),
		digits(j.Record.CRPS, 4),
		digits(j.Record.RatioBefore, 4),
		digits(j.Record.RatioAfter, 4),
		digits(j.Record.RatioSE, 3),
		digits(j.Record.Conformal.Coverage, 4),
	}
}

// summaries is the table of each base on each kind of data. right_before and right_after
// count sets whose Σe/Σv̂ is between ½ and 2, or within two standard errors of 1.
func summaries(list []judged) *sheet {
	s := &sheet{head: []string{
		"data", "base", "sets", "r2", "covered_to_90", "coverage_before", "coverage_68", "coverage_90", "coverage_95",
		"coverage_98", "score_before", "score_after", "score_model_free", "crps", "right_before", "right_after",
		"overconfident", "too_wide",
	}}

	var keys [][2]string

	groups := map[[2]string][]judged{}
	for _, j := range list {
		key := [2]string{j.campaign(), j.base}
		if groups[key] == nil {
			keys = append(keys, key)
		}

		groups[key] = append(groups[key], j)
	}

	for _, key := range keys {
		g := groups[key]
		mean := func(f func(j judged) float64) string {
			sum := 0.0
			for _, j := range g {
				sum += f(j) / float64(len(g))
			}

			return digits(sum, 4)
		}

		count := func(f func(j judged) bool) string {
			n := 0
			for _, j := range g {
				if f(j) {
					n++
				}
			}

			return strconv.Itoa(n)
		}

		right := func(ratio, se float64) bool { return ratio >= 0.5 && ratio <= 2 || math.Abs(ratio-1) <= 2*se }
		s.add(
			key[0], key[1], strconv.Itoa(len(g)),
			mean(func(j judged) float64 { return j.Record.R2 }),
			count(func(j judged) bool { return j.Record.After.Coverage >= 0.9 }),
			mean(func(j judged) float64 { return j.Record.Before.Coverage }),
			mean(func(j judged) float64 { return j.Record.At[0] }),
			mean(func(j judged) float64 { return j.Record.At[1] }),
			mean(func(j judged) float64 { return j.Record.At[2] }),
			mean(func(j judged) float64 { return j.Record.At[3] }),
			mean(func(j judged) float64 { return j.Record.Before.Score }),
			mean(func(j judged) float64 { return j.Record.After.Score }),
			mean(func(j judged) float64 { return j.Record.ModelFree.Score }),
			mean(func(j judged) float64 { return j.Record.CRPS }),
			count(func(j judged) bool { return right(j.Record.RatioBefore, 0) }),
			count(func(j judged) bool { return right(j.Record.RatioAfter, j.Record.RatioSE) }),
			count(func(j judged) bool { return j.Record.RatioAfter-2*j.Record.RatioSE > 1 }),
			count(func(j judged) bool { return j.Record.RatioAfter+2*j.Record.RatioSE < 1 }),
		)
	}

	return s
}
