package table

// floats is a table with columns of numbers.
type floats interface {
	Floats(name string) ([]float64, error)
}

// Matrix returns the columns NAME+suffix of a table as a row-major matrix.
func Matrix(t floats, names []string, suffix string) ([]float64, error) {
	var rows []float64
	for k, name := range names {
		column, err := t.Floats(name + suffix)
		if err != nil {
			return nil, err
		}

		if rows == nil {
			rows = make([]float64, len(column)*len(names))
		}

		for i, x := range column {
			rows[i*len(names)+k] = x
		}
	}

	return rows, nil
}
