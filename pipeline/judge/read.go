package judge

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/triplets"
)

// maxRows bounds a table of predictions, which is held in memory.
const maxRows = 5_000_000

// against is the pairs that judge, and the split of the experiment they belong to.
type against struct {
	path  string
	pairs *table.Table
	split *table.Table // predictions.arrow of the split: the parts, and the scale; nil: none
}

// readPairs reads the pairs of an experiment's folder or name, of a triplets.arrow, or of a table. texts
// are the columns of text that are wanted of a table.
func readPairs(o Options, texts []string) (a against, err error) {
	a.path = o.Against
	info, err := os.Stat(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		if a.path, err = experiment(o.Against); err == nil {
			info, err = os.Stat(a.path)
		}
	}

	switch {
	case err != nil:
		return a, &fault.Error{
			Path: o.Against, Want: "an experiment, its folder, a triplets.arrow or a table of pairs", Found: "none",
			Hint: "the pairs of an experiment are there after pipeline run",
		}
	case o.Split != "" && !info.IsDir():
		return a, &config.UsageError{Text: "--split belongs to --against of an experiment, found the file " + a.path}
	case info.IsDir():
		if a.pairs, err = table.Read(filepath.Join(a.path, "triplets.arrow")); err == nil && o.Split != "" {
			err = a.readSplit(o.Split)
		}
	case filepath.Ext(a.path) == ".arrow":
		a.pairs, err = table.Read(a.path)
	default:
		a.pairs, err = readTable(a.path, texts)
	}

	if err == nil && (a.pairs.Column("run") == nil || a.pairs.Column("recording") == nil) {
		err = &fault.Error{Path: a.path, Want: "a table of pairs, such as triplets.arrow", Found: "no column run"}
	}

	return a, err
}

// experiment is the folder of an experiment of pipeline.yaml.
func experiment(name string) (string, error) {
	f, err := config.Load("pipeline.yaml")
	if err != nil {
		return "", err
	}

	return filepath.Join(f.Resolve(f.Workdir), name), nil
}

func (a *against) readSplit(name string) error {
	path := filepath.Join(a.path, "splits", name, "seed-0", "predictions.arrow")

	t, err := table.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		var names []string
		list, _ := os.ReadDir(filepath.Join(a.path, "splits")) // without one there is no split
		for _, d := range list {
			names = append(names, d.Name())
		}

		return &config.UsageError{Text: fmt.Sprintf("--split: %s has no split %q, expected one of %s%s", a.path, name,
			strings.Join(names, ", "), spelling.DidYouMean(name, names))}
	}

	if err == nil && t.Rows() != a.pairs.Rows() {
		err = &fault.Error{
			Path: path, Want: fmt.Sprintf("%d rows, as in triplets.arrow", a.pairs.Rows()), Found: strconv.Itoa(t.Rows()),
			Hint: "run pipeline run again",
		}
	}

	a.split = t

	return err
}

// readTable reads pairs of columns NAME_1 and NAME_2 with the reader of ingest: {table: …}.
func readTable(path string, texts []string) (*table.Table, error) {
	o, known, err := campaign.ResolveTable(path, campaign.TableOptions{Run: "run"})
	if err != nil {
		return nil, err
	}

	if head, err := campaign.ReadCells(path, 0); err != nil || !slices.Contains(head.Columns, "run") {
		o.Run = ""
	}

	for _, name := range known {
		if name != "run" && name != "recording" && slices.Contains(texts, name) {
			o.Labels = append(o.Labels, name)
		}
	}

	p, err := campaign.ReadTables([]campaign.TableFile{{Path: path, Name: path}}, o)
	if err != nil {
		return nil, err
	}

	t, _ := ingeststage.PairTables(p, []string{path}, []string{""})

	return t, nil
}

// inputs are those of the split, else all given conditions.
func (a against) inputs(conditions []string) []string {
	if a.split != nil {
		return strings.Split(a.split.Get("inputs"), ",")
	}

	return conditions
}

// set is the pairs of some outcomes, matched by these conditions.
func (a against) set(outcomes, matched []string) (triplets.Set, error) {
	s, err := plan.Triplets(a.pairs, a.inputs(matched), outcomes)
	s.Couples = a.pairs.Get("dsp.couples") == "true"

	return s, err
}

// conditions are the columns by which a prediction can say of which pair it is: numbers that are no
// outcome, and texts.
func (a against) conditions(outcomes []string) (numbers, texts []string) {
	numbers, texts = plan.Conditions(a.pairs)
	numbers = slices.DeleteFunc(numbers, func(n string) bool { return slices.Contains(outcomes, n) })

	return numbers, append([]string{"run", "recording"}, texts...)
}

// predictions are the cells of the user's table, and the row of each pair in it.
type predictions struct {
	*campaign.Cells
	path string
	of   []int // row of each pair; −1: none
}

func (p *predictions) has(name string) bool { return slices.Contains(p.Columns, name) }

// text is a cell of a column.
func (p *predictions) text(row int, name string) string {
	return strings.TrimSpace(p.Rows[row][slices.Index(p.Columns, name)])
}

// number is a cell of a column that holds a number; NaN where it is empty.
func (p *predictions) number(row int, name string) (float64, error) {
	text := p.text(row, name)
	switch strings.ToLower(text) {
	case "", "nan", "null", "none":
		return math.NaN(), nil
	}

	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return v, &fault.Error{
			Path: p.path, Place: fmt.Sprintf("row %d, column %s", row+1, name), Want: "a number", Found: strconv.Quote(text),
		}
	}

	return v, nil
}

// match finds the row of each pair by the columns that both tables have, and names what has no partner.
func (p *predictions) match(a against, numbers, texts []string) (notes []string, err error) {
	rows, used, keys := map[string]int{}, map[string]bool{}, make([]string, len(p.Rows))
	for i := range p.Rows {
		var k string
		for _, n := range numbers {
			v, err := p.number(i, n)
			if err != nil {
				return nil, err
			}

			k += nineDigits(v)
		}

		for _, n := range texts {
			k += "\x00" + p.text(i, n)
		}

		keys[i] = k
		if first, twice := rows[k]; twice && !slices.Equal(p.Rows[first], p.Rows[i]) {
			return nil, &fault.Error{
				Path: p.path, Want: "one prediction of " + strings.Join(slices.Concat(numbers, texts), ", "),
				Found: fmt.Sprintf("different ones in rows %d and %d", first+1, i+1),
				Hint:  "add a column of the pairs that tells them apart, such as run",
			}
		} else if !twice {
			rows[k] = i
		}
	}

	p.of = make([]int, a.pairs.Rows())
	for i := range p.of {
		var k string
		for _, n := range numbers {
			k += nineDigits(a.pairs.Column(n).Floats[i])
		}

		for _, n := range texts {
			k += "\x00" + strings.TrimSpace(a.pairs.Column(n).Strings[i])
		}

		row, ok := rows[k]
		if !ok {
			row = -1
		}

		p.of[i], used[k] = row, true
	}

	var left []string
	for i, k := range keys {
		if !used[k] {
			left = append(left, strconv.Itoa(i+1))
		}
	}

	if len(left) == len(p.Rows) {
		return nil, &fault.Error{
			Path: p.path, Place: "columns " + strings.Join(slices.Concat(numbers, texts), ", "),
			Want: "conditions of pairs of " + a.path, Found: "no row that has one",
		}
	}

	if len(left) > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s match no pair: %s", fault.Plural(int64(len(left)), "row"), p.path,
			some(left)))
	}

	return notes, nil
}

// nineDigits is a number as it is compared.
func nineDigits(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) + " " }

// some lists the first of many.
func some(list []string) string {
	const most = 8
	if len(list) > most+1 {
		return strings.Join(list[:most], "; ") + fmt.Sprintf(" and %d more", len(list)-most)
	}

	return strings.Join(list, "; ")
}
