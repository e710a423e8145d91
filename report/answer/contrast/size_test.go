package contrast

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/contrast"
)

// stand is the thrust coefficients of each propeller of examples/propeller-stand (measured), by motor
// and speed.
func stand(t *testing.T) map[string][]row {
	t.Helper()

	f, err := os.Open("../../../examples/propeller-stand/pairs.csv")
	require.NoError(t, err)
	defer f.Close()

	records, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	out := map[string][]row{}
	for _, r := range records[1:] {
		for k, run := range strings.Split(r[0], " + ") {
			rpm, err1 := strconv.ParseFloat(r[4], 64)

			kt, err2 := strconv.ParseFloat(r[5+k], 64)
			require.NoError(t, err1)
			require.NoError(t, err2)

			out[r[1]] = append(out[r[1]], row{unit: run[:1], all: []float64{rpm}, y: []float64{kt}})
		}
	}

	return out
}

// Motors at random on two sides, with one propeller: nothing differs. At 5 % the test with motors as units
// finds a difference in 0.5 to 7 % of 3,000 splits; rows as units in half of them.
func TestSizeOnPropellerStand(t *testing.T) {
	each := 40
	if longtest.IsStudy() {
		each = 375
	}

	random := rand.New(rand.NewPCG(35, 2))
	byMotor := 0.0
	byRow := 0.0
	splits := 0.0
	for p := 1; p <= 8; p++ {
		rows := stand(t)[strconv.Itoa(p)]

		var motors []string
		for _, r := range rows {
			if !slices.Contains(motors, r.unit) {
				motors = append(motors, r.unit)
			}
		}

		for range each {
			random.Shuffle(len(motors), func(i, k int) { motors[i], motors[k] = motors[k], motors[i] })
			c := &comparison{Options: Options{Unit: "motor"}, Result: &Result{}, axes: []quantity{{"rpm", "1/min"}}}
			naive := []contrast.Arm{{Weight: []float64{-1}}, {Weight: []float64{1}}}
			for _, r := range rows {
				if slices.Index(motors, r.unit) >= len(motors)/2 {
					r.side = 1
				}

				c.rows = append(c.rows, r)
				naive[r.side].Curves = append(naive[r.side].Curves, r.y)
			}

			c.keepVarying()

			require.NoError(t, c.matchConditions())
			require.Equal(t, byPoints, c.Compared, "propeller %d: compared", p)

			d := c.design(0)
			if d.untested != "" || len(d.blocks) != 1 {
				t.Fatalf("propeller %d: %s, %d blocks", p, d.untested, len(d.blocks))
			}

			byMotor += different(d.arms(nil, 1))
			byRow += different(naive)
			splits++
		}
	}

	t.Logf("%g splits: motors as units differ in %.4f, rows in %.4f", splits, byMotor/splits, byRow/splits)

	page := testfile.Read(t, "../../../docs/contrast.md")

	text := strings.Join(strings.Fields(string(page)), " ")
	if stated := fmt.Sprintf("rows as units %.0f %% of the splits differed at 5 %%, with motors as units %.1f %%",
		100*byRow/splits, 100*byMotor/splits); each > 100 && !strings.Contains(text, stated) {
		t.Errorf("docs/contrast.md does not state: %s", stated)
	}

	// In the short test the share has a standard error of 0.012. A test that never finds a difference is wrong too.
	most := 0.07
	if each < 100 {
		most += 0.02
	}

	assert.LessOrEqual(t, byMotor/splits, most, "motors as units: different in")
	assert.GreaterOrEqual(t, byMotor/splits, 0.005, "motors as units: different in")

	assert.InDelta(t, 0.5, byRow/splits, 0.15, "rows as units: different in")
}

func different(arms []contrast.Arm) float64 {
	if e := contrast.Mean(arms, 0.95); e.Low > 0 || e.High < 0 {
		return 1
	}
	return 0
}

// Two wings, one run of each at every angle and speed (simulated): the difference is quadratic in the angle, runs
// scatter by 1. The band over the angle holds the whole true curve in 95 % of the campaigns or more, three standard
// errors of a share of 400 less at most, whether runs or wings are named as units. A band that nearly always holds it
// is too wide.
func TestBandOfTwoThings(t *testing.T) {
	const campaigns = 400
	r := rand.New(rand.NewPCG(55, 4))
	truth := func(angle float64) float64 { return 2 + angle/5 - angle*angle/100 }
	for _, unit := range []string{"run", "wing"} {
		held := 0
		for range campaigns {
			c := &comparison{Options: Options{Unit: unit, Level: 0.95}, Result: &Result{}}
			c.axes = []quantity{{"angle", "deg"}, {"speed", "m/s"}}
			for i := range 2 * 9 * 3 {
				side := i % 2
				angle := float64(i / 2 % 9)
				name := strconv.Itoa(side)
				if unit == "run" {
					name = strconv.Itoa(i)
				}

				y := angle + float64(side)*truth(angle) + r.NormFloat64()
				c.rows = append(c.rows, row{side: side, unit: name, all: []float64{angle, float64(i / 18)}, y: []float64{y}})
			}

			c.keepVarying()
			require.NoError(t, c.matchConditions())
			require.Equal(t, byConditions, c.Compared, "compared")
			at, band := c.curve(c.design(0), 0, "angle")
			inside := len(at) == 9
			for p, e := range band {
				inside = inside && e.Low <= truth(at[p]) && truth(at[p]) <= e.High
			}

			held += map[bool]int{true: 1}[inside]
		}

		share := float64(held) / campaigns
		assert.GreaterOrEqual(t, share, 0.95-3*0.011, "%s: the band holds the true difference in", unit)
		assert.LessOrEqual(t, share, 0.995, "%s: the band holds the true difference in", unit)
	}
}
