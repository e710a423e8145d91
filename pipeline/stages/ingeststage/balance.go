package ingeststage

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// Forces are the roles a balance's columns can have that are turned and made
// into coefficients; every other role is an outcome by that name.
var Forces = []string{"lift_n", "drag_n", "fx_n", "fz_n"}

// CoefficientOf names the coefficient that a force or a moment becomes.
var CoefficientOf = map[string]string{
	"lift_n": "cl", "drag_n": "cd", "mx_nm": "cl_roll", "my_nm": "cm", "mz_nm": "cn",
}

// SeriesNames lists the series of a balance: its columns, turned into wind axes and
// made into coefficients.
func SeriesNames(in *config.Ingest, coefficients bool) (names []string) {
	if in.Axes == "body" {
		names = []string{"lift_n", "drag_n"}
	}

	own := lists.Keep(in.Columns, func(c config.NamedString) bool {
		return in.Axes != "body" || c.Name != "fx_n" && c.Name != "fz_n"
	})
	names = append(names, lists.Each(own, func(c config.NamedString) string { return c.Name })...)

	for i, n := range names {
		if to := CoefficientOf[n]; coefficients && to != "" {
			names[i] = to
		}
	}

	return names
}

// checkBalance reports balance settings that do not fit together, and makes the balance's matrix.
func checkBalance(exp plan.Experiment, src *plan.Source) {
	in := &src.In
	const key, at = "ingest.columns", "ingest.balance"
	has := func(role string) bool { _, ok := config.Find(in.Columns, role); return ok }
	for _, c := range in.Columns {
		name, _ := Component(c.Value)
		exp.Refuse(name == "", key+"."+c.Name, "expected the name of a column, found %q", c.Value)
	}

	body, wind := has("fx_n") || has("fz_n"), has("lift_n") || has("drag_n")
	exp.Refuse(in.Axes == "body" && !(has("fx_n") && has("fz_n")), key,
		"axes: body turns fx_n (aft) and fz_n (up) by alpha_deg into lift and drag; expected both among the columns")
	exp.Refuse(in.Axes == "body" && wind, key, "lift_n and drag_n are wind axes, but axes is body")
	exp.Refuse(in.Axes == "wind" && body, key,
		"fx_n and fz_n are body axes; set axes: body (they are turned by alpha_deg), or name the columns lift_n and drag_n")

	d := exp.DSP
	if bal := in.Balance; bal != nil {
		var err error
		src.Matrix, err = dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms)
		exp.Refuse(err != nil, at, "%v", err)
		exp.Refuse(!slices.ContainsFunc(in.Columns, func(c config.NamedString) bool {
			n, _ := Component(c.Value)
			return slices.Contains(bal.Components, n)
		}), key, "none of the columns is one of the balance's loads %v", bal.Components)

		if r := bal.ReferenceM; r != nil {
			side := has("mx_nm") && r[2] != 0 || has("mz_nm") && r[0] != 0
			moment := has("mx_nm") || has("my_nm") || has("mz_nm")
			exp.Refuse(in.Axes != "body" || side && !has("fy_n") || !moment, at, "r × F of reference_m needs moments and the "+
				"forces along their axes: expected axes: body and mx_nm, my_nm or mz_nm among the columns, and fy_n for mx_nm "+
				"where z is not 0 and for mz_nm where x is not 0")
		}

		exp.Refuse(d.ChordM > 0 && bal.Blockage == "", at,
			"coefficients of a wind tunnel need the walls' blockage: expected blockage: none, or a number")
	}

	if d.ChordM > 0 {
		exp.Refuse(!body && !wind, "dsp.chord_m",
			"coefficients are made of lift_n and drag_n (or fx_n, fz_n); the columns are %v",
			lists.Each(in.Columns, func(c config.NamedString) string { return c.Name }))
		exp.Refuse(d.DensityKgM3 == 0 && d.PressurePa == 0 && !airKnown(in, src.Conditions), "dsp",
			"coefficients need the air density: expected density_kg_m3, or temperature_c and pressure_pa")
	}
}

// Component splits the name of a load from the sign in front of it.
func Component(value string) (name string, sign float64) {
	if n, ok := strings.CutPrefix(value, "-"); ok {
		return n, -1
	}
	return strings.TrimPrefix(value, "+"), 1
}

// balanceColumns lists the columns a balance's run is read from: those of the
// outcomes; of a balance of voltages the voltages, then the angle's and the
// flow's columns, then columns of outcomes that are no loads.
func balanceColumns(in *config.Ingest, conditions []string) (names []string) {
	bal := in.Balance
	if bal == nil {
		return lists.Each(in.Columns, func(c config.NamedString) string { return c.Value })
	}

	names = slices.Clone(bal.Voltages)
	if AngleColumn(bal, conditions) {
		names = append(names, bal.Angle)
	}

	if w := bal.Flow; w != nil {
		names = append(names, w.Column, w.Pressure, w.Temperature)
	}

	for _, c := range in.Columns {
		if n, _ := Component(c.Value); !slices.Contains(bal.Components, n) {
			names = append(names, c.Value)
		}
	}

	return without(unique(names), isEmpty)
}

// AngleColumn reports whether the balance's angle is a column of the files and
// not a condition.
func AngleColumn(bal *config.Balance, conditions []string) bool {
	return bal.Angle != "" && !slices.Contains(conditions, bal.Angle)
}

// airKnown reports whether conditions or a sensor give what the dynamic pressure
// needs of the air.
func airKnown(in *config.Ingest, conditions []string) bool {
	has := func(n string) bool { return slices.Contains(conditions, n) }
	return has("q_pa") || has("density_kg_m3") || has("pressure_pa") && has("temperature_c") ||
		in.Balance != nil && in.Balance.Flow != nil && (in.Balance.Flow.Quantity == "q_pa" || in.Balance.Flow.Pressure != "")
}

// measuresForces makes a balance whose columns hold forces one of voltages whose
// matrix is the identity, so that tare, angle and signs are one and the same.
func measuresForces(in *config.Ingest) (forces bool) {
	if in.Balance == nil || len(in.Balance.Voltages) > 0 || len(in.Balance.Matrix) > 0 {
		return false
	}

	bal := *in.Balance // the configuration's stays as it was written
	bal.Voltages = unique(lists.Each(in.Columns, func(c config.NamedString) string {
		n, _ := Component(c.Value)
		return n
	}))

	bal.Components = slices.Clone(bal.Voltages)
	for i := range bal.Voltages {
		row := make([]float64, len(bal.Voltages))
		row[i] = 1
		bal.Matrix = append(bal.Matrix, row)
	}

	in.Balance = &bal

	return true
}

// maxMatrix is the most rows of a matrix.
const maxMatrix = 1000

// readMatrix reads the balance's matrix from its file, with the components and the terms that the file names.
func readMatrix(exp plan.Experiment, in *config.Ingest) {
	if in.Balance == nil || in.Balance.MatrixFile == "" {
		return
	}

	bal, path := *in.Balance, in.Balance.MatrixFile // the configuration's stays as it was written
	c := fault.Get(campaign.ReadCells(exp.File.Resolve(path), maxMatrix))
	first, v := len(c.Columns)-len(c.Units), len(bal.Voltages) // first: the column of names is before the numbers
	head, names := c.Heads[first:], c.Column(nil, 0)
	n := len(head)
	var rows [][]float64
	for k := -1; k < c.Rows; k++ {
		var numbers []float64
		for i := range head {
			cell := head[i]
			if k >= 0 {
				cell = c.Text(k, first+i)
			}

			x, err := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64)
			if err == nil && x-x == 0 {
				numbers = append(numbers, x)
			} else if err == nil || k >= 0 {
				fault.Raise(fault.At(path, fmt.Sprintf("matrix, row %d, column %d", k+1, first+i+1), "a number",
					strconv.Quote(cell), ""))
			}
		}

		if len(numbers) > 0 {
			rows = append(rows, numbers)
		}
	}

	if len(rows) > c.Rows { // without a header
		head, names = nil, append(c.Heads[:1], names...)
	}

	if first > 0 && !exp.File.Has(exp.At+".ingest.balance.components") {
		bal.Components = names
	}

	rows = inOrder(rows, names, bal.Components)
	for k, row := range rows {
		if head != nil && n >= v {
			rows[k] = slices.Concat(inOrder(row[:v], head, bal.Voltages), row[v:])
		}
	}

	if len(bal.Terms) == 0 && n > v {
		bal.Terms = productsOf(v)
		if head != nil && head[v] != "" {
			var numbers []string // of the voltages, for their names: U12 before U1
			for k, name := range slices.Backward(bal.Voltages) {
				numbers = append(numbers, name, strconv.Itoa(k+1))
			}

			bal.Terms = strings.Split(strings.NewReplacer(numbers...).Replace(strings.Join(head[v:], "\n")), "\n")
		}
	}

	fault.Unless(len(rows) == len(bal.Components) && n == v+len(bal.Terms), fault.At(path, "matrix",
		fmt.Sprintf("a row for each of the components %v, of %d coefficients or of %d with the products of AIAA R-091",
			bal.Components, v, v+len(productsOf(v))), fmt.Sprintf("%d rows of %d", len(rows), n),
		"name rows and products in the file, or under balance: {components: […], terms: [1*2, 3^2, …]}"))

	bal.Matrix, bal.MatrixFile, in.Balance = rows, "", &bal
}

// inOrder brings what the file has in the order of its names into that of want, where they are the same names.
func inOrder[T any](in []T, names, want []string) []T {
	out := make([]T, 0, len(in))
	for _, name := range want {
		if at := slices.Index(names, name); at >= 0 && at < len(in) {
			out = append(out, in[at])
		}
	}

	if len(out) < len(in) {
		return in
	}

	return out
}

// productsOf are the terms of AIAA R-091 beyond the linear ones, for v voltages.
func productsOf(v int) (terms []string) {
	for _, form := range []string{
		"|%[1]d|", "%[1]d^2", "%[1]d*|%[1]d|", "%[1]d*%[2]d", "|%[1]d|*|%[2]d|", "%[1]d*|%[2]d|", "|%[1]d|*%[2]d",
		"%[1]d^3", "|%[1]d|^3",
	} {
		for i := range v {
			for k := i; k < v; k++ {
				if (k > i) == strings.Contains(form, "[2]") {
					terms = append(terms, fmt.Sprintf(form, i+1, k+1))
				}
			}
		}
	}

	return terms
}

// ownTare is the recording without wind that the table of conditions names for
// a file; the rows of one file name one.
func ownTare(column string, conds *campaign.Conditions, name string) (own string) {
	unless := func(ok bool, path, place, want, found string) {
		fault.Unless(ok, fault.At(path, place, want, found, ""))
	}
	unless(conds != nil, name, "", "a table of conditions with the column "+column, "none")
	unless(slices.Contains(conds.Labels, column), conds.Path, "",
		"a column "+column+" with the names of recordings without wind", "columns of text: "+strings.Join(conds.Labels, ", "))

	for i, r := range conds.Rows {
		v, _ := r.Name(column)
		v = strings.TrimSpace(v)
		place := fmt.Sprintf("line %d, column %s", r.Line, column)
		unless(v != "", conds.Path, place, "the recording without wind of "+name, "an empty cell")
		unless(i == 0 || v == own, conds.Path, place, fmt.Sprintf("%q, as for the other intervals of %s", own, name),
			strconv.Quote(v))
		own = v
	}

	return own
}

// tareColumns are the columns that name the recordings without wind; nil of none.
func tareColumns(in *config.Ingest) []string {
	if in.Balance == nil || in.Balance.Tare == nil || in.Balance.Tare.Column == "" {
		return nil
	}

	return without([]string{in.Balance.Tare.Column, in.Balance.Tare.After}, isEmpty)
}

// takeTares gives the recordings without wind that the table names their paths, and returns the files without them:
// they are none of the campaign. A name is a path from the configuration's folder or the recording's, or it is one as
// recordings have them, without folder and ending.
func (r *Recordings) takeTares(exp plan.Experiment, recordings, files []string) []string {
	columns := tareColumns(&r.In)
	if columns == nil || r.Table == nil {
		return files
	}

	var near []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		names, _, _, _ := campaign.Find([]string{pattern}, nil, exp.File.Dir) // none is no fault
		near = append(near, names...)
	}

	near = unique(near, recordings)
	located := map[[2]string]string{} // by name and folder
	tares, measured := map[string]bool{}, map[string]bool{}
	for i, of := range r.Table.FilesOf(recordings) {
		if len(of) == 0 {
			continue
		}

		row, folder := r.Table.Rows[i], path.Dir(filepath.ToSlash(recordings[of[0]]))
		measured[path.Base(filepath.ToSlash(row.File))] = true
		for k := range row.States {
			c := &row.States[k]
			if !c.IsName || !slices.Contains(columns, c.Column) {
				continue
			}

			key := [2]string{c.Name, folder}
			if located[key] == "" {
				place := fmt.Sprintf("line %d, column %s", row.Line, c.Column)
				located[key] = r.locate(c.Name, folder, place, near)
				if _, err := os.Stat(exp.File.Resolve(located[key])); err != nil {
					found := fmt.Sprintf("no file %q", c.Name)
					fault.Raise(fault.At(r.In.Conditions, place, "a recording without wind", found, "write its path"))
				}
			}

			c.Name = located[key]
			tares[c.Name] = true
		}
	}

	r.warnings = slices.DeleteFunc(r.warnings, func(w ingest.Warning) bool { return tares[filepath.ToSlash(w.Path)] })

	return without(files, func(p string) bool {
		s := filepath.ToSlash(p)
		return tares[s] && !measured[path.Base(s)]
	})
}

// locate finds a recording without wind, which the table names at a place, first in the folder of the run; one that
// there is not keeps its name.
func (r *Recordings) locate(name, folder, place string, files []string) string {
	of := lists.Rows(files, 1, campaign.FilesOf([]string{strings.TrimSpace(name)}, files)[0])
	if beside := without(of, func(f string) bool { return path.Dir(f) != folder }); len(beside) > 0 {
		of = beside
	}

	if len(of) > 1 {
		err := fmt.Errorf("expected one recording without wind, found %q and %q", of[0], of[1])
		fault.Raise(&fault.Error{Path: r.In.Conditions, Place: place, Err: err, Hint: "write more of the path"})
	}

	return append(of, name)[0]
}

// findTares finds the recordings without wind of each file, and how far its runs are between them: by their first row
// among those of the table that name the same two, one before the first, the other after the last.
func (r *Recordings) findTares(exp plan.Experiment) {
	if r.In.Balance == nil || r.In.Balance.Tare == nil {
		return
	}

	t, columns := r.In.Balance.Tare, tareColumns(&r.In)
	named := func(row campaign.ConditionRow) (names string) {
		for _, c := range columns {
			name, _ := row.Name(c)
			names += strconv.Quote(name)
		}

		return names
	}

	lines := map[string][]int{} // of the rows, by what they name
	if t.Drift == "linear" {
		for _, row := range r.Table.Rows {
			lines[named(row)] = append(lines[named(row)], row.Line)
		}
	}

	for i := range r.Files {
		f := &r.Files[i]
		for _, p := range without([]string{t.File, t.Column, t.After}, isEmpty) {
			if t.Column != "" {
				p = ownTare(p, f.Rows, f.Name)
			}

			f.Tares = append(f.Tares, exp.Named(p))
		}

		if t.Drift == "linear" {
			own := f.Rows.Rows[0]
			of := lines[named(own)]
			f.Share = float64(own.Line-of[0]+1) / float64(of[len(of)-1]-of[0]+2)
		}
	}
}
