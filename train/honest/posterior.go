package honest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/gp"
	"doubletake/train/honest/interval"
)

// Posterior is what a calibrated process states at some conditions, and would state if some of
// them were measured, each by as many pairs as the others. Means, noise and the law between groups
// stay: no outcome is known.
type Posterior struct {
	process      *gp.Posterior
	calibration  interval.Calibration
	x, mu, noise []float64
	z            []float64 // the groups' coordinates; nil: none
	factor       []float64 // of variances, from the form to the data's own units; nil: 1
	weight       []float64 // of the process's variances: calibrated, over the outcomes' variance
	measured     []float64 // coordinates of conditions taken as measured
}

// Posterior returns what the model states at conditions x (n×In, own units).
//
// Errors are those of Predict, and a model that is no calibrated process.
func (m *Model) Posterior(ctx context.Context, x []float64) (p *Posterior, err error) {
	defer fault.Catch(&err)
	if m.Process == nil || m.Calibration == nil {
		return nil, errors.New("look ahead of measurements: expected a calibrated process")
	}

	now := fault.Get(m.Predict(ctx, x, 0, nil))
	p = &Posterior{calibration: *m.Calibration, x: x, mu: now.Mu}
	p.z = m.coordinates(&p.calibration, x)
	_, _, p.noise = m.predictLevels(ctx, x, nil)

	process := m.mapped()
	p.process = fault.Get(process.Posterior(ctx, x, m.Process.Pairs(), m.newRuns(now.N)))
	p.factor = lists.Each(process.Form.LnFactors(x), func(l float64) float64 { return math.Exp(2 * l) })

	for k, claim := range p.process.Claims() {
		s := m.Calibration.Deviation[k%now.Out]
		p.weight = append(p.weight, now.Epistemic[k]/(claim*s*s*float64(len(now.Mu))))
	}

	return p, nil
}

// Clone returns a copy.
func (p *Posterior) Clone() *Posterior {
	c := *p
	c.process, c.measured = p.process.Clone(), slices.Clone(p.measured)

	return &c
}

// Gain is by how much the mean expected squared error over all conditions, in units of each
// outcome's training variance, would fall if some were measured.
func (p *Posterior) Gain(conditions []int) (float64, error) {
	return p.process.Gain(conditions, p.weight)
}

// Measure takes conditions as measured.
func (p *Posterior) Measure(conditions []int) error {
	if err := p.process.Measure(conditions); err != nil {
		return fmt.Errorf("look ahead of measurements: %w", err)
	}

	p.measured = append(p.measured, lists.Rows(p.z, 1, conditions)...)

	return nil
}

// Predict returns the intervals at the conditions. Of a group that was measured first by Measure,
// the claim alone counts (see afterMeasuring).
func (p *Posterior) Predict() *interval.Prediction {
	claims := p.process.Claims()
	for k, f := range p.factor {
		claims[k] *= f
	}

	now := p.calibration.Predict(p.x, p.z, p.mu, claims, p.noise)
	if len(p.measured) == 0 {
		return now
	}

	after := afterMeasuring(p.calibration, p.measured).Predict(p.x, p.z, p.mu, claims, p.noise)
	for i, w := range after.Where {
		if now.Where[i].Distance > 0 && w.Distance == 0 {
			at := i * now.Out
			copy(now.Half[at:at+now.Out], after.Half[at:])
			copy(now.Epistemic[at:at+now.Out], after.Epistemic[at:])
		}
	}

	return now
}
