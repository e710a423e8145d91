package kernel

// Group is the number of lanes of a Program: conditions that are computed side by side.
const Group = 32

// A Program is a list of Steps, for the algebra of small matrices of many conditions
// at once. Numbers live in slots, one for each lane: slot i of a room is
// room[i*Group : (i+1)*Group].
type Program struct {
	steps []Step // in numbers of the room instead of slots
	size  int
}

// A Step computes in each lane, for r = 0 … Count−1,
//
//	v = Init + Σ P·Q, N products
//
// and writes v to To and, unless it is a Sum, its Kind's function of v to Also. No
// output may be read by another of the same Step.
type Step struct {
	Count, N       int32
	Kind           Kind
	Scale          int32   // a slot for all outputs
	P              Factors // for all outputs
	Q              Factors
	Init, To, Also Slots
}

// Slots are slots At + r·Next.
type Slots struct{ At, Next int32 }

// Factors are slots At + k·Step + r·Next of product k; P has no Next.
type Factors struct{ At, Step, Next int32 }

// Kind is what a Step does with its sum v. Only Sum and Scaled may have several outputs.
type Kind int32

// The kinds of Steps.
const (
	Sum      Kind = iota // nothing else
	Scaled               // Also gets v·Scale
	Pivot                // To gets v, but at least Scale; Also gets −1/that
	Log                  // Also gets log v
	Exp                  // Also gets eᵛ, −87 ≤ v ≤ 88
	Softplus             // To gets softplus(v), Also its derivative
)

// mostOutputs is what the kernels compute at once.
const mostOutputs = 6

// NewProgram returns the program of steps. It panics if a step has an unknown kind or a
// negative slot.
func NewProgram(steps []Step) *Program {
	p := &Program{}
	for _, s := range steps {
		need(s.Kind >= Sum && s.Kind <= Softplus && s.N >= 0 && s.P.Next == 0 && (s.Kind <= Scaled || s.Count == 1),
			"unknown step of a program")

		for r := int32(0); r < s.Count; r += mostOutputs {
			part := s
			part.Count = min(mostOutputs, s.Count-r)
			for _, f := range []*Slots{&part.Init, &part.To, &part.Also} {
				f.At += r * f.Next
				p.reach(f.At, f.At+(part.Count-1)*f.Next)
				*f = Slots{f.At * Group, f.Next * Group}
			}

			for _, f := range []*Factors{&part.P, &part.Q} {
				f.At += r * f.Next
				over := max(s.N-1, 0) * f.Step
				p.reach(f.At, f.At+over, f.At+(part.Count-1)*f.Next, f.At+over+(part.Count-1)*f.Next)
				*f = Factors{f.At * Group, f.Step * Group, f.Next * Group}
			}

			p.reach(s.Scale)
			part.Scale *= Group
			p.steps = append(p.steps, part)
		}
	}

	return p
}

// reach makes the room large enough for the slots.
func (p *Program) reach(slots ...int32) {
	for _, s := range slots {
		need(s >= 0, "negative slot of a program")
		p.size = max(p.size, (int(s)+1)*Group)
	}
}

func (p *Program) check(room int) { need(room >= p.size, "room is too short for its program") }

func run[T Float](p *Program, room []T) {
	p.check(len(room))

	for i := range p.steps {
		s := &p.steps[i]
		for r := range s.Count {
			acc := [Group]T(room[s.Init.At+r*s.Init.Next:])

			a, b := s.P.At, s.Q.At+r*s.Q.Next
			for range s.N {
				x, y := room[a:a+Group], room[b:b+Group]
				for l := range acc {
					acc[l] += T(x[l] * y[l])
				}

				a, b = a+s.P.Step, b+s.Q.Step
			}

			copy(room[s.To.At+r*s.To.Next:], acc[:])

			if s.Kind > Sum {
				at := func(s Slots) []T { return room[s.At+r*s.Next:][:Group] }
				apply(s.Kind, at(s.To), room[s.Scale:s.Scale+Group], at(s.Also))
			}
		}
	}
}

// apply writes the function of to.
func apply[T Float](kind Kind, to, scale, also []T) {
	for l, v := range to {
		switch kind {
		case Scaled:
			also[l] = T(v * scale[l])
		case Pivot:
			to[l] = max(v, scale[l])
			also[l] = -1 / to[l]
		case Log:
			also[l] = log(v)
		case Exp:
			also[l] = exp(v)
		case Softplus:
			e, h := tails(v)
			to[l] = max(v, 0) + log1p(e)
			also[l] = bySlope(1, e, h)
		}
	}
}
