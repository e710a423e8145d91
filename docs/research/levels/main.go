// Levels draws docs/coverage-simulated-measured.svg from the tables of the study, the share of
// held-out values inside intervals of four levels:
//
//	go run ./levels > ../coverage-simulated-measured.svg
package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"

	"doubletake/report/figure"
	"doubletake/train/honest/interval"
)

// bases are drawn together as one model, with a colour and a shape.
var bases = []struct {
	name, class, shape string
	of                 []string
}{
	{"process", "mean", "", []string{"gp", "orders"}},
	{"prior ensemble", "floor", "square", []string{"prior-ensemble"}},
	{"ensemble", "test", "ring", []string{"ensemble"}},
	{"pair network", "aux", "diamond", []string{"pair"}},
}

func main() {
	if err := run("tables/intervals.csv", "tables/intervals-refit.csv"); err != nil {
		fmt.Fprintln(os.Stderr, "levels:", err)
		os.Exit(1)
	}
}

func run(tables ...string) error {
	f := &figure.Figure{
		ID:      "levels",
		Title:   "Share of held-out values inside intervals of four levels, simulated and measured groups",
		Desc:    "A panel of simulated and one of measured groups, each with the mean share of four models over the level.",
		Note:    "mean over held-out groups; the toy beyond its data is among the simulated ones",
		Columns: 2,
		Width:   760,
	}

	for _, kind := range []struct{ title, measured string }{{"Simulated groups", "false"}, {"Measured groups", "true"}} {
		p := figure.Panel{
			Title:  kind.title,
			X:      figure.Axis{Label: "level of the interval", Min: 0.6, Max: 1.02, Ticks: interval.Levels[:]},
			Y:      figure.Axis{Label: "mean share of values inside", Min: 0.5, Max: 1.02},
			Height: 240,
		}
		promised := figure.Mark{Kind: figure.Line, Name: "as promised", Class: "grey", Dashed: true}

		for _, l := range interval.Levels {
			promised.Point(l, l)
		}

		p.Marks = append(p.Marks, promised)

		for _, b := range bases {
			rows, err := rowsOf(tables, b.of, kind.measured)
			if err != nil {
				return err
			}

			m := figure.Mark{
				Kind: figure.Points, Name: fmt.Sprintf("%s, %d groups", b.name, len(rows)), Class: b.class, Shape: b.shape, Size: 4,
			}
			for _, l := range interval.Levels {
				sum := 0.0
				for _, row := range rows {
					v, err := strconv.ParseFloat(row[fmt.Sprintf("coverage_%.0f", 100*l)], 64)
					if err != nil {
						return fmt.Errorf("read coverage of %s %s: %w", row["data"], row["held_out"], err)
					}

					sum += v / float64(len(rows))
				}

				m.Point(l, sum)
			}

			p.Marks = append(p.Marks, m)
		}

		f.Panels = append(f.Panels, p)
	}

	_, err := os.Stdout.Write(figure.Draw(f, figure.Options{Digits: 4}))

	return err
}

// rowsOf returns the rows of held-out groups with intervals by one of the bases.
func rowsOf(tables, of []string, measured string) (out []map[string]string, err error) {
	for _, name := range tables {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read table: %w", err)
		}

		all, err := csv.NewReader(file).ReadAll()
		file.Close()

		if err != nil {
			return nil, fmt.Errorf("read table %s: %w", name, err)
		}

		for _, cells := range all[1:] {
			row := map[string]string{}
			for i, c := range cells {
				row[all[0][i]] = c
			}

			if slices.Contains(of, row["base"]) && row["measured"] == measured && row["absent"] == "" {
				out = append(out, row)
			}
		}
	}

	return out, nil
}
