package kernel

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// randomStep reads slots 0–29 of a room and writes slots 30–59.
func randomStep(r *rand.Rand) Step {
	number := func(n int) int32 { return int32(r.IntN(n)) }
	s := Step{
		Count: 1 + number(8), N: number(5), Kind: Kind(number(int(Softplus) + 1)), Scale: number(30),
		P: Factors{At: number(10), Step: number(4)}, Q: Factors{At: 14 - number(6), Step: number(5) - 2, Next: number(2)},
		Init: Slots{At: 7, Next: number(5) - 1}, To: Slots{At: 30, Next: 1}, Also: Slots{At: 52, Next: -2},
	}

	if s.Kind > Scaled {
		s.Count = 1
	}

	return s
}

// Expected values: the definition of a Step in float64, and math's functions.
func TestProgramStep(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(23, 24))

		turns := 300
		if os.Getenv("DOUBLETAKE_LONG") != "" {
			turns = 2000
		}

		for range turns {
			s := randomStep(r)

			room := random(r, 60*Group)
			if s.Kind == Log || s.Kind == Pivot {
				for i := range room {
					room[i] = float32(math.Abs(float64(room[i]))) + 1e-3
				}
			}

			before := append([]float32(nil), room...)
			set.Run(NewProgram([]Step{s}), room)
			at := func(slot int32, l int) float64 { return float64(before[int(slot)*Group+l]) }
			expected := wide(before)

			scale := make([]float64, len(room))
			for i, x := range expected {
				scale[i] = math.Abs(x)
			}

			for i := range s.Count {
				for l := range Group {
					v := at(s.Init.At+i*s.Init.Next, l)
					size := math.Abs(v)
					for k := range s.N {
						p := at(s.P.At+k*s.P.Step, l) * at(s.Q.At+k*s.Q.Step+i*s.Q.Next, l)
						v += p
						size += math.Abs(p)
					}

					by, w, sizeW := at(s.Scale, l), 0.0, 0.0
					switch s.Kind {
					case Scaled:
						w, sizeW = v*by, size*math.Abs(by)
					case Pivot:
						v = max(v, by)
						w, sizeW = -1/v, max(size, v)/v/v
					case Log:
						w, sizeW = math.Log(v), 1+size/v
					case Exp:
						w = math.Exp(v)
						sizeW = w * (1 + size)
					case Softplus:
						w, sizeW = 1/(1+math.Exp(-v)), 1+size
						v = math.Log1p(math.Exp(v))
						size++
					}

					to, also := int(s.To.At+i*s.To.Next)*Group+l, int(s.Also.At+i*s.Also.Next)*Group+l
					expected[to], scale[to] = v, size
					if s.Kind > Sum {
						expected[also], scale[also] = w, sizeW
					}
				}
			}

			for i, x := range room {
				close32(t, "slot", x, expected[i], scale[i])
			}
		}
	})
}

// A program of many steps is its steps one after the other.
func TestProgram(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(25, 26))
		var steps []Step
		room := random(r, 60*Group)

		for range 40 {
			s := randomStep(r)
			s.Kind = min(s.Kind, Scaled)
			steps = append(steps, s)
		}

		alone := append([]float32(nil), room...)
		set.Run(NewProgram(steps), room)
		set.Run(NewProgram(nil), room)

		for _, s := range steps {
			set.Run(NewProgram([]Step{s}), alone)
		}

		for i, x := range alone {
			if room[i] != x {
				t.Fatalf("slot %d is %g, alone %g", i/Group, room[i], x)
			}
		}
	})
}

// NaN is no pivot that the floor lifts: a diverged network must not look healthy.
func TestPivotKeepsNaN(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		room := make([]float32, 3*Group)
		room[1], room[2*Group] = float32(math.NaN()), 1
		s := Step{Count: 1, Kind: Pivot, Init: Slots{At: 0}, Scale: 2, To: Slots{At: 1}, Also: Slots{At: 2}}
		set.Run(NewProgram([]Step{s}), room)

		if x, y := room[Group+1], room[2*Group+1]; x == x || y == y {
			t.Errorf("NaN gives %g and %g", x, y)
		}

		if x, y := room[Group], room[2*Group]; x != 1 || y != -1 {
			t.Errorf("0 gives %g and %g, expected the floor 1 and -1", x, y)
		}
	})
}

func TestProgramMisuse(t *testing.T) {
	for name, s := range map[string]Step{
		"unknown kind":     {Count: 1, Kind: Softplus + 1},
		"two functions":    {Count: 2, Kind: Log},
		"negative slot":    {Count: 3, To: Slots{At: 1, Next: -1}},
		"negative product": {Count: 1, N: 3, Q: Factors{At: 1, Step: -1}},
		"P of an output":   {Count: 2, P: Factors{Next: 1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()

			NewProgram([]Step{s})
		}()
	}
}
