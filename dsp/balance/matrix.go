package balance

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/internal/lists"
)

// addIdentityMatrix describes a balance whose columns contain forces as a balance of voltages whose matrix is the
// identity, so that tares, angles and signs need no code of their own. It reports whether the balance is of this kind,
// and leaves other settings unchanged.
func addIdentityMatrix(settings *setting.Campaign) bool {
	if settings.Balance == nil || len(settings.Balance.Voltages) > 0 || len(settings.Balance.Matrix) > 0 {
		return false
	}

	var names []string
	for _, column := range settings.Columns {
		name, _ := Component(column.Value)
		names = append(names, name)
	}

	bal := *settings.Balance // a copy: the experiments of a file share the configuration's balance
	bal.Voltages = lists.Names(names)
	bal.Components = slices.Clone(bal.Voltages)
	for i := range bal.Voltages {
		row := make([]float64, len(bal.Voltages))
		row[i] = 1
		bal.Matrix = append(bal.Matrix, row)
	}

	settings.Balance = &bal

	return true
}

// maxMatrix is the largest number of rows that a file with a matrix may have.
const maxMatrix = 1000

// readMatrix reads the balance's matrix from its file, with the components and the terms that the file names. It stores
// them in a copy of the balance's settings. It does nothing if the settings name no file of a matrix.
func readMatrix(project setting.Project, settings *setting.Campaign) error {
	if settings.Balance == nil || settings.Balance.MatrixFile == "" {
		return nil
	}

	bal := *settings.Balance // a copy: the experiments of a file share the configuration's balance
	path := bal.MatrixFile
	cells, err := campaign.ReadCells(project.Resolve(path), maxMatrix)
	if err != nil {
		return err
	}

	file, err := parseMatrix(path, cells)
	if err != nil {
		return err
	}

	if file.hasNames && !project.IsGiven("balance.components") {
		bal.Components = file.names
	}

	voltages := len(bal.Voltages)
	if len(bal.Terms) == 0 && file.width > voltages {
		bal.Terms = file.terms(bal.Voltages)
	}

	bal.Matrix = file.ordered(bal.Components, bal.Voltages)
	if len(bal.Matrix) != len(bal.Components) || file.width != voltages+len(bal.Terms) {
		return fault.At(path, "matrix",
			fmt.Sprintf("a row for each of the components %v, of %d coefficients or of %d with the products of AIAA R-091",
				bal.Components, voltages, voltages+len(productsOf(voltages))),
			fmt.Sprintf("%d rows of %d", len(bal.Matrix), file.width),
			"name rows and products in the file, or under balance: {components: […], terms: [1*2, 3^2, …]}")
	}

	bal.MatrixFile = ""
	settings.Balance = &bal

	return nil
}

// matrixFile is the contents of a file with a balance's matrix.
type matrixFile struct {
	rows     [][]float64
	width    int      // numbers in a row
	names    []string // the text of the first cell of each row
	hasNames bool     // the first cells are names of loads, and not numbers
	header   []string // headers of the numbers' columns; nil without a header
}

// parseMatrix reads a matrix from the cells of its file.
func parseMatrix(path string, cells *campaign.Cells) (*matrixFile, error) {
	firstNumber := len(cells.Columns) - len(cells.Units) // the column of names is before the numbers
	rows, err := matrixRows(path, cells, firstNumber)
	if err != nil {
		return nil, err
	}

	file := &matrixFile{
		rows: rows, width: len(cells.Heads) - firstNumber, names: cells.Column(nil, 0), hasNames: firstNumber > 0,
		header: cells.Heads[firstNumber:],
	}

	if len(rows) > cells.Rows { // the first line is a row of numbers
		file.header = nil
		file.names = slices.Concat(cells.Heads[:1], file.names)
	}

	return file, nil
}

// ordered returns the rows in the order of the components, and in each row the coefficients of the voltages in the
// order of voltages. Rows keep the order of the file if it does not name all components, and coefficients if it does
// not name all voltages.
func (f *matrixFile) ordered(components, voltages []string) [][]float64 {
	rows := slices.Clone(inOrder(f.rows, f.names, components))
	if f.header == nil || f.width < len(voltages) {
		return rows
	}

	for k, row := range rows {
		rows[k] = slices.Concat(inOrder(row[:len(voltages)], f.header, voltages), row[len(voltages):])
	}

	return rows
}

// terms returns the terms of the columns behind the voltages' columns: the terms in the header, or the terms of AIAA
// The file must have such columns.
func (f *matrixFile) terms(voltages []string) []string {
	n := len(voltages)
	if f.header != nil && f.header[n] != "" {
		return termsOf(f.header[n:], voltages)
	}

	return productsOf(n)
}

// matrixRows reads the numbers of a matrix from column first on. The header counts as the first row if it consists of
// numbers.
func matrixRows(path string, cells *campaign.Cells, first int) ([][]float64, error) {
	var rows [][]float64
	for k := -1; k < cells.Rows; k++ {
		var numbers []float64
		for i := first; i < len(cells.Heads); i++ {
			cell := cells.Heads[i]
			if k >= 0 {
				cell = cells.Text(k, i)
			}

			x, err := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64)
			isNumber := err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
			if isNumber {
				numbers = append(numbers, x)
				continue
			}

			if err == nil || k >= 0 {
				return nil, fault.At(path, fmt.Sprintf("matrix, row %d, column %d", k+1, i+1), "a number",
					strconv.Quote(cell), "")
			}
		}

		if len(numbers) > 0 {
			rows = append(rows, numbers)
		}
	}

	return rows, nil
}

// termsOf returns the terms that headers state, with the number of each voltage in place of its name.
func termsOf(headers, voltages []string) []string {
	longestFirst := slices.Clone(voltages) // U12 is replaced before U1, which is its beginning
	slices.SortStableFunc(longestFirst, func(a, b string) int { return len(b) - len(a) })
	var replacements []string
	for _, name := range longestFirst {
		number := slices.Index(voltages, name) + 1
		replacements = append(replacements, name, strconv.Itoa(number))
	}

	text := strings.NewReplacer(replacements...).Replace(strings.Join(headers, "\n"))

	return strings.Split(text, "\n")
}

// inOrder reorders values from the order of names to the order of want. If want does not have the names of all values,
// inOrder returns values unchanged.
func inOrder[T any](values []T, names, want []string) []T {
	ordered := make([]T, 0, len(values))
	for _, name := range want {
		if i := slices.Index(names, name); i >= 0 && i < len(values) {
			ordered = append(ordered, values[i])
		}
	}

	if len(ordered) < len(values) {
		return values
	}

	return ordered
}

// productsOf returns the terms of AIAA R-091 for a number of voltages, without the linear terms.
func productsOf(voltages int) []string {
	var terms []string
	for _, form := range []string{
		"|%[1]d|", "%[1]d^2", "%[1]d*|%[1]d|", "%[1]d*%[2]d", "|%[1]d|*|%[2]d|", "%[1]d*|%[2]d|", "|%[1]d|*%[2]d",
		"%[1]d^3", "|%[1]d|^3",
	} {
		terms = append(terms, termsOfForm(form, voltages)...)
	}

	return terms
}

// termsOfForm returns the terms of one form: a term for each pair of different voltages if the form has two numbers,
// and for each voltage otherwise.
func termsOfForm(form string, voltages int) []string {
	ofPairs := strings.Contains(form, "[2]")
	var terms []string
	for i := 1; i <= voltages; i++ {
		if !ofPairs {
			terms = append(terms, fmt.Sprintf(form, i))
			continue
		}

		for k := i + 1; k <= voltages; k++ {
			terms = append(terms, fmt.Sprintf(form, i, k))
		}
	}

	return terms
}
