package setting

// Sidecar is a file next to each recording with its conditions.
type Sidecar struct {
	// ending of its name, e.g. .yaml: run_1.wav has run_1.yaml
	Ending string `key:"ending" short:"yes"`

	// place of each condition, as keys joined with dots, e.g. {rpm: motor.speed}: a number, or the name of a thing or
	// an occasion; empty: all values at the top level are conditions
	Values []NamedString `key:"values"`
}
