package app

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"doubletake/ingest/simulate"
)

func runSimulate(c *call) error {
	campaign, err := simulate.New(c.arg(0))
	if err != nil {
		return usage("%v", err)
	}

	var unfit []string // flags of other campaigns
	seed := c.Uint64("seed")

	switch s := campaign.(type) {
	case simulate.Rotor:
		unfit = []string{"triplets", "gamma"}
		s.Seed, s.Encoding = seed, cmp.Or(c.String("encoding"), s.Encoding)
		set(c, "rate-hz", &s.RateHz)
		set(c, "duration-s", &s.DurationS)
		campaign = s
	case simulate.Airfoil:
		unfit = []string{"triplets", "gamma", "encoding"}
		s.Seed = seed
		set(c, "rate-hz", &s.RateHz)
		set(c, "duration-s", &s.DurationS)
		campaign = s
	case simulate.Toy:
		unfit = []string{"rate-hz", "duration-s", "encoding"}
		s.Seed = seed
		set(c, "gamma", &s.Gamma)
		if c.IsSet("triplets") {
			s.N = c.Int("triplets")
		}
		campaign = s
	}

	if i := slices.IndexFunc(unfit, c.IsSet); i >= 0 {
		return usage("--%s does not belong to the %s campaign", unfit[i], campaign.Kind())
	}

	if err := campaign.Validate(); err != nil {
		return usage("%v", err)
	}

	jobs := c.Int("jobs")
	if jobs <= 0 {
		jobs = runtime.NumCPU()
	}

	err = simulate.WriteDir(c.ctx, campaign, c.arg(1), jobs, func(done, total int) {
		if done == total || done%50 == 0 {
			fmt.Fprintf(c.stderr, "simulated %d of %d files\n", done, total)
		}
	})
	if err != nil {
		return fmt.Errorf("write simulated campaign: %w", err)
	}

	fmt.Fprintf(c.stdout, "wrote %d simulated %s files to %s\n", len(campaign.Files()), campaign.Kind(), c.arg(1))

	return nil
}

func set(c *call, flag string, v *float64) {
	if c.IsSet(flag) {
		*v = c.Float64(flag)
	}
}
