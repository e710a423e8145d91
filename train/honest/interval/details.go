package interval

import (
	"encoding/json"
	"fmt"
	"slices"

	"doubletake/train/numbers"
)

// Details are the numbers of a record that documents leave out: the intervals of each held-out value, the intervals
// that the record compares with, and all that the trust of an outcome needs. The file of a model has them beside the
// record, so that a report reads the whole record from it.
type Details struct{ record *Record }

// Details returns the details of a record, or nil if r is nil.
func (r *Record) Details() *Details {
	if r == nil {
		return nil
	}

	return &Details{r}
}

// members returns the members of the details, each with a pointer to its number.
func (d *Details) members() numbers.Object {
	r := d.record
	return numbers.Object{
		"coverage_before", &r.Before.Coverage, "width_before", &r.Before.Width,
		"coverage_model_free", &r.ModelFree.Coverage, "width_model_free", &r.ModelFree.Width,
		"coverage_conformal", &r.Conformal.Coverage, "width_conformal", &r.Conformal.Width,
		"interval_score_conformal", &r.Conformal.Score, "distance", &r.Distance, "epistemic", &r.Epistemic,
		"mean", (*floats)(&r.Mu), "half_width", (*floats)(&r.Half), "half_width_68", (*floats)(&r.Half68),
		"contained_at", (*floats)(&r.ContainedAt),
	}
}

// MarshalJSON writes the details. Numbers that are undefined or not finite become null.
func (d *Details) MarshalJSON() ([]byte, error) {
	var outcomes []numbers.Object
	for i := range d.record.Outcomes {
		outcomes = append(outcomes, d.record.Outcomes[i].Details())
	}

	return append(d.members(), "outcomes", outcomes).MarshalJSON()
}

// ReadDetails adds the details that MarshalJSON wrote to a record that was read without them.
func (r *Record) ReadDetails(data []byte) error {
	if err := r.Details().members().UnmarshalJSON(data); err != nil {
		return fmt.Errorf("decode details of a record: %w", err)
	}

	var trust struct {
		Outcomes []json.RawMessage `json:"outcomes"`
	}
	if err := json.Unmarshal(data, &trust); err != nil {
		return fmt.Errorf("decode details of a record: %w", err)
	}

	if len(trust.Outcomes) != len(r.Outcomes) {
		return fmt.Errorf("decode details of a record: expected %d outcomes, found %d", len(r.Outcomes),
			len(trust.Outcomes))
	}

	for i, text := range trust.Outcomes {
		if err := r.Outcomes[i].Details().UnmarshalJSON(text); err != nil {
			return fmt.Errorf("decode details of outcome %s: %w", r.Outcomes[i].Outcome, err)
		}
	}

	values := len(r.Mu)
	lengths := []int{len(r.Half), len(r.Half68), len(r.ContainedAt) / 2}
	isOther := func(n int) bool { return n != values }
	if slices.ContainsFunc(lengths, isOther) {
		return fmt.Errorf("decode details of a record: %d means have %v half widths, 68 %% half widths and levels", values,
			lengths)
	}

	return nil
}

// floats is a list of numbers that may be undefined.
type floats []float64

// MarshalJSON writes undefined numbers as null.
func (f *floats) MarshalJSON() ([]byte, error) {
	if *f == nil {
		return []byte("null"), nil
	}

	list := make([]numbers.Float, len(*f))
	for i, v := range *f {
		list[i] = numbers.Float(v)
	}

	return json.Marshal(list)
}

// UnmarshalJSON reads null as an undefined number.
func (f *floats) UnmarshalJSON(data []byte) error {
	var list []numbers.Float
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}

	*f = nil
	for _, v := range list {
		*f = append(*f, float64(v))
	}

	return nil
}
