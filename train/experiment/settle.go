package experiment

// Settle expands the splits of the experiment, adds the asked ones whose conditions the experiment has, reads the prior
// that the settings name, and finds the inputs that number things. resolve returns the path of a file that the settings
// name. fits tells for each asked split whether it was added. An experiment without inputs trains nothing and stays as
// it is.
func (e *Experiment) Settle(asked []Split, resolve func(name string) string) (fits []bool, err error) {
	fits = make([]bool, len(asked))
	if len(e.Inputs) == 0 {
		return fits, nil
	}

	splits, err := e.Expand(e.Splits, RefuseUnknown)
	if err != nil {
		return nil, err
	}

	for i, split := range asked {
		splits, fits[i], err = e.Ask(splits, split)
		if err != nil {
			return nil, err
		}
	}

	e.Splits = splits
	if err := e.ReadPrior(resolve); err != nil {
		return nil, err
	}

	return fits, e.NumberThings()
}
