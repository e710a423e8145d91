package score

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// Expected: beta quantiles by scipy 1.8 (beta.ppf(.05, k, n−k+1) and its complement), closed
// form where all values are inside, and the transfer 2Φ(z₆₈⁻¹((1+l)/2)·z₉₅/z₆₈) − 1 by scipy.
func TestBounds(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		inside, inside68, effective float64
		lower, upper                float64
	}{
		{0.7, nan, 10, 0.39337578389458766, 0.9127355660858496},
		{0.75, nan, 2, 0.0973081817399401, 0.9991318007925581},
		{1, nan, 14, math.Pow(0.05, 1.0/14), 1},
		{0, nan, 2, 0, 1 - math.Sqrt(0.05)},
		{0.95, 0.3, 40, 0.8508480387267869, 0.9910430540}, // the share itself is the better bound
		{1, 0.9, 10, 0.9069212072037249, 1},               // that of 68 % is
		{nan, nan, 3, 0, 1},
	} {
		e := Evidence{Level: 0.95, Units: 2, Inside: c.inside, Inside68: c.inside68, Effective: c.effective}
		lower, upper := e.Bounds()
		assert.InDelta(t, c.lower, lower, 1e-8, "lower bound of %g of %g values inside", c.inside, c.effective)
		assert.InDelta(t, c.upper, upper, 1e-6, "upper bound of %g of %g values inside", c.inside, c.effective)
	}
}

// n independent values of a normal distribution, of which 95 % intervals contain 0.8: the probability that the lower
// bound is above 0.8, and that the intervals hold. Expected: sums over the binomial probabilities of the values inside
// 68 % intervals, and of the others inside 95 % intervals, by scipy. The second probability is at most 5 % for all n
// from 5 to 200, of which 22 has the largest.
func TestRiskOfHolding(t *testing.T) {
	z95 := math.Erfinv(0.8) / math.Erfinv(0.95) // half width of the intervals over that of right intervals
	inside68 := math.Erf(math.Erfinv(0.68) * z95)
	for n, want := range map[int][2]float64{
		5:  {0.02668733511, 0.02668733511},
		15: {0.07334770558, 0.04571386755},
		22: {0.08687624990, 0.04914937364},
	} {
		above := 0.0
		holding := 0.0
		for k68 := range n + 1 {
			first := distuv.Binomial{N: float64(n), P: inside68}.Prob(float64(k68))
			for more := range n - k68 + 1 {
				rest := distuv.Binomial{N: float64(n - k68), P: (0.8 - inside68) / (1 - inside68)}.Prob(float64(more))
				e := Evidence{
					Level: 0.95, Units: n, Effective: float64(n),
					Inside: float64(k68+more) / float64(n), Inside68: float64(k68) / float64(n),
				}
				if lower, _ := e.Bounds(); lower > 0.8 {
					above += first * rest
				}

				if e.Grade() == Holds {
					holding += first * rest
				}
			}
		}

		assert.InDelta(t, want[0], above, 1e-8, "lower bound of %d values above 0.8", n)
		assert.InDelta(t, want[1], holding, 1e-8, "grade of %d values", n)
	}
}

// The grades follow from their definition. 1 − 0.05^(1/13) > 0.2 > 1 − 0.05^(1/14), so that 14 units worth a value each
// are enough if all values are inside. Each case changes this evidence.
func TestGrade(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *Evidence)
		want   Grade
		enough int // units that would decide; 0: no number of units would
	}{
		{"all inside", func(*Evidence) {}, Holds, 0},
		{"13 units", func(e *Evidence) { e.Units = 13; e.Effective = 13 }, Undecided, 14},
		{"two units", func(e *Evidence) { e.Units = 2; e.Effective = 2 }, Undecided, 14},
		{"four units worth more", func(e *Evidence) { e.Units = 4; e.Effective = 40 }, Undecided, 5},
		{"wider than three spreads", func(e *Evidence) { e.WidthOverSpread = 3.1 }, Undecided, 0},
		{"half of the values inside 68 %", func(e *Evidence) { e.Inside68 = 0.5 }, Undecided, 0},
		{"as wide as the data", func(e *Evidence) { e.WidthOverSpread = 0.8 }, Wide, 0},
		{"four times the error", func(e *Evidence) { e.Inside68 = 0.9; e.Half = 4.1 }, Wide, 0},
		{"few values inside 68 %", func(e *Evidence) { e.Inside68 = 0.89; e.Half = 4.1 }, Holds, 0},
		{"below the noise", func(e *Evidence) { e.Inside68 = 0.95; e.Error = 0 }, Wide, 0},
		{"none inside", func(e *Evidence) { e.Inside = 0; e.Units = 2; e.Effective = 2 }, Fails, 0},
		{"the model's claim", func(e *Evidence) { e.Claimed = true }, Undecided, 0},
		{"75 % of two", func(e *Evidence) { e.Inside = 0.75; e.Units = 2; e.Effective = 2 }, Undecided, 19},
		{"nothing", func(e *Evidence) { *e = Evidence{Level: 0.95, Inside: math.NaN()} }, Undecided, 0},
	} {
		e := Evidence{Level: 0.95, Units: 14, Inside: 1, Inside68: math.NaN(), Effective: 14, Half: 3, Error: 1}
		c.change(&e)
		assert.Equal(t, c.want, e.Grade(), c.name)
		assert.Equal(t, c.enough, e.Outlook().Units, "%s: units that would decide", c.name)
	}
}

// Intervals of another level are judged by their level: 92.5 % of the values inside decides nothing about 98 %.
func TestGradeOfAnotherLevel(t *testing.T) {
	e := Evidence{Level: 0.98, Units: 14, Inside: 0.925, Inside68: math.NaN(), Effective: 14, Half: 3, Error: 1}
	assert.Equal(t, Undecided, e.Grade())
}

// A grade completes the sentence "the interval …".
func TestPredicate(t *testing.T) {
	assert.Equal(t, "fails", Fails.Predicate())
	assert.Equal(t, "is wide", Wide.Predicate())
}

// measuredScatter reads the table of the study of measured sets. It returns the standard deviation between held-out
// groups of the share of values inside the 68 % intervals of processes, and the number of groups.
func measuredScatter(t *testing.T) (float64, int) {
	t.Helper()

	f, err := os.Open("../../docs/research/tables/intervals.csv")
	require.NoError(t, err)
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	column := map[string]int{}
	for k, name := range rows[0] {
		column[name] = k
	}

	var v []float64
	for _, r := range rows[1:] {
		if r[column["measured"]] != "true" || r[column["base"]] != "gp" {
			continue
		}

		x, err := strconv.ParseFloat(r[column["coverage_68"]], 64)
		require.NoError(t, err)

		v = append(v, x)
	}

	_, sd := MeanStd(v)

	return sd, len(v)
}

// simulatedGroup simulates a group of runs with the true mean 0. The model errs by a deviation that the group shares
// (the share rho of the variance), and by a deviation of each run (0.05 of the rest). What is left is noise. Over many
// groups the variance of a value about the prediction is 1.
func simulatedGroup(rng *rand.Rand, runs int, rho float64) Set {
	const pairs = 13
	n := runs * pairs
	s := Set{Set: triplets.Set{N: n, Out: 1, Y1: make([]float64, n), Y2: make([]float64, n), Run: make([]int, n)}}
	s.Mu = make([]float64, n)

	group := math.Sqrt(rho)
	ofRun := math.Sqrt(0.05 * (1 - rho))
	noise := math.Sqrt(0.95 * (1 - rho))
	shift := group * rng.NormFloat64()
	for r := range runs {
		own := shift + ofRun*rng.NormFloat64()
		for k := r * pairs; k < (r+1)*pairs; k++ {
			s.Run[k] = r
			s.Y1[k] = own + noise*rng.NormFloat64()
			s.Y2[k] = own + noise*rng.NormFloat64()
		}
	}

	return s
}

// judgedGroup judges intervals that are too narrow by the factor narrow.
func judgedGroup(s Set, narrow float64) Trust {
	var i Intervals
	i.Level = 0.95
	fill := func(level float64) []float64 {
		v := make([]float64, s.N)
		for k := range v {
			v[k] = math.Sqrt2 * math.Erfinv(level) / narrow
		}

		return v
	}

	i.Half = fill(0.95)
	for l, level := range Levels {
		i.At[l] = fill(level)
	}

	total := make([]float64, s.N)
	for k := range total {
		total[k] = 1 / (narrow * narrow)
	}

	return TrustOf(s, total, nil, []float64{3}, []int{0}, &i)
}

// gradeCounts counts the grades of simulated campaigns, whose intervals are too narrow by one factor.
type gradeCounts struct {
	narrow    float64       // the factor
	campaigns int           // campaigns so far
	single    map[Grade]int // number of campaigns whose first group has the grade
	pooled    map[Grade]int // number of campaigns that have the grade over all groups
}

// share returns a number of campaigns as a share of all.
func (g *gradeCounts) share(count int) float64 { return float64(count) / float64(g.campaigns) }

// add judges the groups of a campaign. It returns the share of values inside the 68 % intervals of each group.
func (g *gradeCounts) add(groups []Set) (inside68 []float64) {
	var inside, squares, half []float64
	for i, s := range groups {
		trust := judgedGroup(s, g.narrow)
		inside = append(inside, trust.Inside)
		inside68 = append(inside68, trust.At[0])
		squares = append(squares, trust.RMSE*trust.RMSE)
		half = append(half, trust.Half)
		if i == 0 {
			g.single[trust.Grade()]++
		}
	}

	evidence := Pool(0.95, inside, inside68)
	evidence.Half = average(half, nil)
	evidence.Error = math.Sqrt(average(squares, nil))
	g.pooled[evidence.Grade()]++
	g.campaigns++

	return inside68
}

// row returns the row of the table of docs/research/intervals.md: the shares in percent, of single groups and pooled.
func (g *gradeCounts) row() string {
	var cells []string
	for _, counts := range []map[Grade]int{g.single, g.pooled} {
		for _, grade := range grades {
			cells = append(cells, strconv.FormatFloat(100*g.share(counts[grade]), 'f', 0, 64))
		}
	}

	return fmt.Sprintf("| %g | %s |", g.narrow, strings.Join(cells, " | "))
}

// Grades of simulated campaigns with known truth are right, for intervals that are right, too narrow by 1.5, 2 and 4,
// and too wide by 2. A campaign has 5 to 12 groups of 2 to 40 runs. Pooled over the groups, at most 5 % of the
// intervals that are too narrow by 2 are called right (wide or not), and at most 5 % of the right ones are said to
// fail. The values of a group share a deviation: with its share 0.95 of the variance, the shares inside 68 % intervals
// scatter between groups as on the measured sets. With 0.4 and 0.8 they scatter less. The table of
// docs/research/intervals.md is for 0.95.
func TestGradesOfSimulatedCampaigns(t *testing.T) {
	isStudy := longtest.IsStudy()
	campaigns := 100
	runs := 8
	allowed := 0.086 // 5 % and 1.65 standard errors
	shares := []float64{0.8}
	if isStudy {
		campaigns = 2000
		runs = 40
		allowed = 0.05
		shares = []float64{0.95, 0.8, 0.4}
	}

	page := testfile.Read(t, "../../docs/research/intervals.md")
	measured, groups := measuredScatter(t)
	for i, rho := range shares {
		factors := []float64{1, 1.5, 2, 4, 0.5}
		byFactor := map[float64]*gradeCounts{}
		for _, narrow := range factors {
			byFactor[narrow] = &gradeCounts{narrow: narrow, single: map[Grade]int{}, pooled: map[Grade]int{}}
		}

		var inside68 []float64 // of right intervals
		for c := range campaigns {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(c)))
			var sets []Set
			for range 5 + rng.IntN(8) {
				sets = append(sets, simulatedGroup(rng, 2+rng.IntN(runs-1), rho))
			}

			for _, narrow := range factors {
				shares := byFactor[narrow].add(sets)
				if narrow == 1 {
					inside68 = append(inside68, shares...)
				}
			}
		}

		isMeasured := rho == 0.95
		if isMeasured {
			_, scatter := MeanStd(inside68)
			assert.InEpsilon(t, measured, scatter, 0.1, "scatter between %d groups of the shares inside 68 %%", groups)
		}

		right := byFactor[1]
		failing := right.share(right.pooled[Fails])
		assert.LessOrEqual(t, failing, allowed, "share %g: right intervals that are said to fail", rho)

		narrow := byFactor[2]
		holding := narrow.share(narrow.pooled[Holds] + narrow.pooled[Wide])
		assert.LessOrEqual(t, holding, allowed, "share %g: intervals too narrow by 2 that hold", rho)

		for _, narrow := range factors {
			row := byFactor[narrow].row()
			t.Logf("share %g: %s", rho, row)
			if isStudy && isMeasured {
				assert.Contains(t, string(page), row, "docs/research/intervals.md")
			}
		}
	}
}
