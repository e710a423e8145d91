package experiment

import (
	"os"

	"doubletake/ingest/setting"
	"doubletake/train/honest/scale"
)

// ReadPrior reads the prior of the scale of new groups, if the settings name a file and not a prior of the program.
// resolve returns the path of a file that the settings name.
func (e *Experiment) ReadPrior(resolve func(name string) string) error {
	name := e.Honest.Prior
	if scale.IsNamed(name) || name == "" {
		return nil
	}

	text, err := os.ReadFile(resolve(name))
	if err != nil {
		return setting.Errorf("honest.prior", "expected wide, library or a file of priors: %v", err)
	}

	list, err := scale.ReadPriors(text)
	if err != nil {
		return setting.Errorf("honest.prior", "%s: %v", name, err)
	}

	e.Prior = list[0]

	return nil
}
