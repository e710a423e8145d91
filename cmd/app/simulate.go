package app

import (
	"fmt"
	"io"
	"runtime"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/simulate"
)

func newSimulateCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "simulate", Usage: "write a simulated raw campaign in real file formats", ArgsUsage: "rotor|airfoil|toy DIR",
		Description: "Example: pipeline simulate rotor simulated-rotor --seed 1\n\n" +
			"Every file name marks the data as simulated.\n\nExit status: 0 success, 1 failed, 2 usage error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "seed", Usage: "seed of the campaign"},
			&cli.Float64Flag{Name: "rate-hz", Usage: "sampling rate in Hz (rotor 10240, airfoil 1000; the paper's rotor: " +
				"51200)"},
			&cli.Float64Flag{Name: "duration-s", Usage: "length of each recording in s (rotor 8, airfoil 10; the paper's " +
				"rotor: 16)"},
			&cli.StringFlag{Name: "encoding", Usage: "rotor: pcm16 or float32"},
			&cli.IntFlag{Name: "triplets", Usage: "toy: number of triplets (1000)"},
			&cli.Float64Flag{Name: "gamma", Usage: "toy: noise amplitude (1.5)"},
			&cli.IntFlag{Name: "jobs", Usage: "files at a time (0: one per processor)"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usage("pipeline simulate takes a campaign (rotor, airfoil or toy) and a folder, found %q", c.Args().Slice())
			}

			campaign, err := simulate.New(c.Args().Get(0))
			if err != nil {
				return usage("%v", err)
			}

			unfit := func(flags ...string) error {
				for _, f := range flags {
					if c.IsSet(f) {
						return usage("--%s does not belong to the %s campaign", f, campaign.Kind())
					}
				}

				return nil
			}

			switch s := campaign.(type) {
			case simulate.Rotor:
				err = unfit("triplets", "gamma")
				s.Seed = c.Uint64("seed")
				set(c, "rate-hz", &s.RateHz)
				set(c, "duration-s", &s.DurationS)

				if c.IsSet("encoding") {
					s.Encoding = c.String("encoding")
				}

				campaign = s

			case simulate.Airfoil:
				err = unfit("triplets", "gamma", "encoding")
				s.Seed = c.Uint64("seed")
				set(c, "rate-hz", &s.RateHz)
				set(c, "duration-s", &s.DurationS)
				campaign = s

			case simulate.Toy:
				err = unfit("rate-hz", "duration-s", "encoding")
				s.Seed = c.Uint64("seed")
				set(c, "gamma", &s.Gamma)

				if c.IsSet("triplets") {
					s.N = c.Int("triplets")
				}

				campaign = s
			}

			if err != nil {
				return err
			}

			if err := campaign.Validate(); err != nil {
				return usage("%v", err)
			}

			jobs := c.Int("jobs")
			if jobs <= 0 {
				jobs = runtime.NumCPU()
			}

			dir := c.Args().Get(1)
			err = simulate.WriteDir(c.Context, campaign, dir, jobs, func(done, total int) {
				if done == total || done%50 == 0 {
					fmt.Fprintf(stderr, "simulated %d of %d files\n", done, total)
				}
			})
			if err != nil {
				return fmt.Errorf("write simulated campaign: %w", err)
			}

			fmt.Fprintf(stdout, "wrote %d simulated %s files to %s\n", len(campaign.Files()), campaign.Kind(), dir)

			return nil
		},
	}
}

func set(c *cli.Context, flag string, v *float64) {
	if c.IsSet(flag) {
		*v = c.Float64(flag)
	}
}
