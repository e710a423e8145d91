package trainstage

import (
	"context"
	"fmt"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// methodVersion is the version of the results of the methods compared with.
// 2: estimates round otherwise; 3: gp counts weighted repeats once, laplace-full rounded
// otherwise.
const methodVersion = 3

// MethodID is the ID of the task of a method on a split.
func MethodID(exp plan.Experiment, split, method string, k int) string {
	return exp.ID("train", split, method, "seed-"+strconv.Itoa(k))
}

// methods adds a task per further method, split and seed: the method is trained
// on what the network was trained on, and asked at every distinct condition.
func (pl *planner) methods(s config.Split) {
	tr := pl.exp.Train

	// The network's own settings matter to the methods made of networks; how its
	// covariance is sampled, and how its pairs and feedback go, to none.
	r := pl.all
	r.Estimate, r.single = nil, true
	for _, name := range tr.Compare {
		for k := range tr.Seeds {
			pl.methodTask(r, s, name, k)
		}
	}
}

func (pl *planner) methodTask(r reads, s config.Split, name string, k int) {
	tr := pl.exp.Train
	seed := plan.SeedOf(tr.Seed, "method "+name, strconv.Itoa(k))
	dep := pl.trip.Triplets
	local := []kv.Pair{
		s.Setting(),
		{Key: "method", Value: name},
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}

	info, _ := baseline.Describe(name)
	if info.Version > 0 {
		local = append(local, kv.Pair{Key: "version of the method", Value: strconv.Itoa(info.Version)})
	}

	condition := "" // whose values are the groups that the method leaves out itself
	var l honest.Learner
	if info.Simple {
		h := tr.Honest
		h.Base = "gp" // the methods have groups without a base too
		condition, _ = HonestCondition(h, s, tr.Splits)
		l = pl.learner(s, condition)
		local = append(local, kv.Pair{
			Key: "groups", Value: fmt.Sprintf("%s, blocks %d, labels %t, within %g", condition, l.Blocks, l.Labels, l.Within),
		})
	}

	cfg := r.settings()
	if info.Members {
		local = append(local, kv.Pair{Key: "train.members", Value: strconv.Itoa(tr.Members)})
	}

	t := pl.exp.Add(&engine.Task{
		ID: MethodID(pl.exp, s.Name, name, k), Stage: "train", Split: s.Name, Version: methodVersion, Config: cfg,
		Local: pl.stated(local), Deps: []engine.Dep{dep}, Weight: pl.weight(),
		Publish: []engine.Link{{
			Output: MethodArrow,
			Path:   pl.exp.Published("train", "splits", s.Name, "seed-"+strconv.Itoa(k), name+".arrow"),
		}},
	})

	if info.Members {
		t.Weight *= float64(tr.Members)
	}

	t.Run = func(ctx context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		var set triplets.Set
		var z []float64
		if condition == "" {
			_, set = readSplit(pl.exp, j, dep, s)
		} else {
			set, z = readGroups(pl.exp, j, dep, s, &l)
			set.Group = l.Grouping(z).Of
		}

		m := fault.Get(baseline.New(name, baseline.Settings{Config: network(pl.exp, 0), Members: tr.Members}))
		p := fault.Get(m.Fit(ctx, pl.trainingPart(s, set), seed))
		out := methodTable(set, fault.Get(p.Predict(ctx, set.Distinct)))
		out.Meta = append(out.Meta, provenance(pl.exp, s, k, cfg, local)...)
		return plan.WriteTable(j, MethodArrow, out)
	}
}

// network are the settings of a network of this experiment.
func network(exp plan.Experiment, seed uint64) train.Config {
	c := exp.Train.Config
	c.Seed, c.Kernels = seed, exp.Program.Kernels
	return c
}
