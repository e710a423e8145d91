package contrast

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/train/contrast"
)

// stand is the thrust coefficients of each propeller of examples/propeller-stand (measured), by motor
// and speed.
func stand(t *testing.T) map[string][]row {
	t.Helper()

	f, err := os.Open("../../examples/propeller-stand/pairs.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	out := map[string][]row{}
	for _, r := range records[1:] {
		for k, run := range strings.Split(r[0], " + ") {
			rpm, err1 := strconv.ParseFloat(r[4], 64)

			kt, err2 := strconv.ParseFloat(r[5+k], 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}

			out[r[1]] = append(out[r[1]], row{unit: run[:1], all: []float64{rpm}, y: []float64{kt}})
		}
	}

	return out
}

// Motors at random on two sides, with one propeller: nothing differs. At 5 % the test with motors as units
// finds a difference in at most 7 % of 3,000 splits; rows as units in half of them.
func TestSizeOnPropellerStand(t *testing.T) {
	each := 40
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		each = 375
	}

	random := rand.New(rand.NewPCG(35, 2))
	byMotor, byRow, splits := 0.0, 0.0, 0.0
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

				c.rows, r.x = append(c.rows, r), nil
				naive[r.side].Curves = append(naive[r.side].Curves, r.y)
			}

			c.varying()

			if how := c.meet(); how != byPoints {
				t.Fatalf("propeller %d: compared %s", p, how)
			}

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

	page, err := os.ReadFile("../../docs/contrast.md")
	if err != nil {
		t.Fatal(err)
	}

	text := strings.Join(strings.Fields(string(page)), " ")
	if stated := fmt.Sprintf("rows as units %.0f %% of the splits differed at 5 %%, with motors as units %.1f %%",
		100*byRow/splits, 100*byMotor/splits); each > 100 && !strings.Contains(text, stated) {
		t.Errorf("docs/contrast.md does not state: %s", stated)
	}

	// Of the short test the share has a standard error of .012.
	if share := byMotor / splits; share > 0.07+map[bool]float64{true: 0.02}[each < 100] {
		t.Errorf("motors as units: different in %.3f", share)
	}

	if share := byRow / splits; math.Abs(share-0.5) > 0.15 {
		t.Errorf("rows as units: different in %.3f", share)
	}
}

func different(arms []contrast.Arm) float64 {
	if e := contrast.Mean(arms, 0.95); e.Low > 0 || e.High < 0 {
		return 1
	}
	return 0
}
