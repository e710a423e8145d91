package trainstage

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// methodVersion is the version of the results of the methods compared with.
// 2: estimates round otherwise; 3: gp counts weighted repeats once, laplace-full rounds
// otherwise.
const methodVersion = 3

// MethodID is the ID of the task of a method on a split.
func MethodID(b *plan.Builder, split, method string, k int) string {
	return b.ID("train", split, method, "seed-"+strconv.Itoa(k))
}

// methods adds a task per further method, split and seed: the method is trained
// on what the network was trained on, and asked at every distinct condition.
func methods(b *plan.Builder, cfg []kv.Pair, s config.Split) {
	tr := b.Exp.Train
	// The network's own settings matter to the methods made of networks; how its
	// covariance is sampled, and how its pairs and feedback go, to none.
	cfg = plan.Without(slices.Clone(cfg), "train.estimate", "train.loss.pairs",
		"train.model.feedback", "train.model.feedback_value", "train.model.head", jointVersion.Key)
	for _, name := range tr.Compare {
		cfg := cfg
		if name == train.Joint || name == train.JointFull {
			cfg = append(slices.Clone(cfg), jointVersion)
		}
		for k := range tr.Seeds {
			methodTask(b, cfg, s, name, k)
			crossTask(b, cfg, s, name, k)
		}
	}
}

func methodTask(b *plan.Builder, cfg []kv.Pair, s config.Split, name string, k int) {
	tr := b.Exp.Train
	seed := plan.SeedOf(tr.Seed, "method "+name, strconv.Itoa(k))
	dep := engine.Dep{Task: b.ID("triplets"), Output: "triplets.arrow"}
	local := []kv.Pair{
		s.Setting(),
		{Key: "method", Value: name},
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}
	info, _ := baseline.Describe(name)
	if info.Version > 0 {
		local = append(local, kv.Pair{Key: "version of the method", Value: strconv.Itoa(info.Version)})
	}
	deps := []engine.Dep{dep}
	if info.Closed {
		cfg = plan.Without(slices.Clone(cfg), "train.early_stopping")
	} else {
		deps = append(deps, stopDeps(b, s, k)...)
	}
	if info.Members {
		local = append(local, kv.Pair{Key: "train.members", Value: strconv.Itoa(tr.Members)})
	}
	t := b.Add(&engine.Task{
		ID: MethodID(b, s.Name, name, k), Stage: "train", Split: s.Name, Version: methodVersion, Config: cfg, Local: local,
		Deps: deps, Weight: weight(b),
		Publish: []engine.Link{{
			Output: MethodArrow, Path: filepath.Join(b.Published("splits", s.Name, "seed-"+strconv.Itoa(k)), name+".arrow"),
		}},
	})
	if info.Members {
		t.Weight *= float64(tr.Members)
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		_, set, err := readSplit(b, j, dep, s)
		if err != nil {
			return err
		}
		c := network(b, 0)
		if !info.Closed {
			if c, err = stopped(b, j, s, k, c); err != nil {
				return err
			}
		}
		m, err := baseline.New(name, baseline.Settings{Config: c, Members: tr.Members})
		if err != nil {
			return err
		}
		start := time.Now()
		p, err := fitMethod(ctx, j, m, set.Of(triplets.Train), seed)
		if err != nil {
			return fitError(b, s, err)
		}
		fitted := time.Now()
		r, err := p.Predict(ctx, set.Distinct)
		if err != nil {
			return err
		}
		asked := time.Now()
		out := methodTable(set, r)
		out.Meta = append(out.Meta, provenance(b, s, k, cfg, local)...)
		if err := writeTable(j, MethodArrow, out); err != nil {
			return err
		}
		return writeTiming(j, fitted.Sub(start), asked.Sub(fitted))
	}
}

// network are the settings of a network of this experiment.
func network(b *plan.Builder, seed uint64) train.Config {
	c := b.Exp.Train.Config
	c.Seed, c.Kernels = seed, b.Program.Kernels
	return c
}
