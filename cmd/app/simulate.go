package app

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/simulate"
)

// runSimulate writes the files of a simulated campaign to a folder.
func runSimulate(c *call) error {
	campaign, err := simulate.New(c.arg(0))
	if err != nil {
		return usage("%v", err)
	}

	campaign, foreign := simulationSettings(c, campaign)
	if i := slices.IndexFunc(foreign, c.IsSet); i >= 0 {
		return usage("--%s does not belong to the %s campaign", foreign[i], campaign.Kind())
	}

	if err := campaign.Validate(); err != nil {
		return usage("%v", err)
	}

	jobs := c.Int("jobs")
	if jobs < 0 {
		return usage("--jobs wants a number of files, found %d", jobs)
	}

	const sayEvery = 50 // files
	observe := func(done, total int) {
		if done == total || done%sayEvery == 0 {
			fmt.Fprintf(c.stderr, "simulated %d of %s\n", done, fault.Plural(int64(total), "file"))
		}
	}

	if err := simulate.WriteDir(c.ctx, campaign, c.arg(1), cmp.Or(jobs, runtime.NumCPU()), observe); err != nil {
		return fmt.Errorf("write simulated campaign: %w", err)
	}

	files := fault.Plural(int64(len(campaign.Files())), "simulated "+campaign.Kind()+" file")
	fmt.Fprintf(c.stdout, "wrote %s to %s\n", files, c.arg(1))

	return nil
}

// simulationSettings returns a campaign with the settings that the flags give. foreign are the flags that belong to
// other campaigns only.
func simulationSettings(c *call, campaign simulate.Campaign) (_ simulate.Campaign, foreign []string) {
	seed := c.Uint64("seed")
	switch settings := campaign.(type) {
	case simulate.Rotor:
		settings.Seed = seed
		settings.Encoding = cmp.Or(c.String("encoding"), settings.Encoding)
		set(c, "rate-hz", &settings.RateHz)
		set(c, "duration-s", &settings.DurationS)

		return settings, []string{"triplets", "gamma"}
	case simulate.Airfoil:
		settings.Seed = seed
		set(c, "rate-hz", &settings.RateHz)
		set(c, "duration-s", &settings.DurationS)

		return settings, []string{"triplets", "gamma", "encoding"}
	case simulate.Toy:
		settings.Seed = seed
		set(c, "gamma", &settings.Gamma)
		if c.IsSet("triplets") {
			settings.N = c.Int("triplets")
		}

		return settings, []string{"rate-hz", "duration-s", "encoding"}
	}

	return campaign, nil
}

// set sets a value if the flag is given.
func set(c *call, flag string, value *float64) {
	if c.IsSet(flag) {
		*value = c.Float64(flag)
	}
}
