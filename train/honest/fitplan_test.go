package honest

import (
	"context"
	"fmt"
	"sync"
)

// FitFunc trains a base model on the given rows alone: neither outcomes nor
// scales of other rows may enter. Its result may depend on rows only, and
// several may run at once.
type FitFunc func(ctx context.Context, rows []int) (Predictor, error)

// FitPlan trains all models of a plan, up to workers at once. The result does
// not depend on their number.
func FitPlan(ctx context.Context, p Plan, fit FitFunc, workers int) (Fitted, error) {
	fitted := make(Fitted, len(p.Trainings))
	errs := make([]error, len(p.Trainings))
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, min(workers, len(p.Trainings))) {
		wg.Go(func() {
			for k := range next {
				fitted[k], errs[k] = fit(ctx, p.Trainings[k].Rows)
			}
		})
	}
	for k := range p.Trainings {
		next <- k
	}
	close(next)
	wg.Wait()
	for k, err := range errs { // the first, whichever failed first
		if err != nil {
			return nil, fmt.Errorf("train model %d of %d, %d rows: %w", k+1, len(errs), len(p.Trainings[k].Rows), err)
		}
	}
	return fitted, nil
}
