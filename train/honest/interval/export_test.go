package interval

// ForgetIntervals drops the half widths, which have a unit.
func (r *Record) ForgetIntervals() { r.Mu, r.Half, r.Half68, r.widths = nil, nil, nil, [4][]float64{} }
