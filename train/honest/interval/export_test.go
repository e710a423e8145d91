package interval

// ForgetIntervals drops the means and half widths, which are in the outcomes' units, so that tests can compare records
// of the same data in two units.
func (r *Record) ForgetIntervals() {
	r.Mu = nil
	r.Half = nil
	r.Half68 = nil
	r.widths = [4][]float64{}
}
