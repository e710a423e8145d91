package kernel

// Group is the number of lanes of a Program: conditions that are computed side by side.
const Group = 32

// A Program is a list of Steps, for the algebra of small matrices of many conditions
// at once. Numbers live in slots, one for each lane: slot i of a room is
// room[i*Group : (i+1)*Group]. The zero Program does nothing.
type Program struct {
	steps []Step // in numbers of the room instead of slots
	size  int
}

// A Step computes in each lane
//
//	v = room[Init] + Σ room[P + k·PStep]·room[Q + k·QStep], k < N
//
// and writes v to slot To and its Kind's function of v to slot Also.
type Step struct {
	Init            int32
	P, PStep        int32
	Q, QStep        int32
	N               int32
	To, Scale, Also int32
	Kind            Kind
}

// Kind is what a Step does with its sum v.
type Kind int32

// The kinds of Steps.
const (
	Scaled   Kind = iota // Also gets v·room[Scale]
	Pivot                // To gets v, but at least room[Scale]; Also gets −1/that
	Log                  // Also gets log v
	Exp                  // Also gets eᵛ, −87 ≤ v ≤ 88
	Softplus             // To gets softplus(v), Also its derivative
)

// NewProgram returns the program of steps. It panics if a step has an unknown kind or a
// negative slot.
func NewProgram(steps []Step) *Program {
	p := &Program{}
	for _, s := range steps {
		need(s.Kind >= Scaled && s.Kind <= Softplus && s.N >= 0, "unknown step of a program")
		last := max(s.N-1, 0)
		for _, slot := range []int32{s.Init, s.P, s.Q, s.P + last*s.PStep, s.Q + last*s.QStep, s.To, s.Scale, s.Also} {
			need(slot >= 0, "negative slot of a program")
			p.size = max(p.size, (int(slot)+1)*Group)
		}
		for _, f := range []*int32{&s.Init, &s.P, &s.PStep, &s.Q, &s.QStep, &s.To, &s.Scale, &s.Also} {
			*f *= Group
		}
		p.steps = append(p.steps, s)
	}
	return p
}

func (p *Program) check(room int) { need(room >= p.size, "room is too short for its program") }

func run[T Float](p *Program, room []T) {
	p.check(len(room))
	for i := range p.steps {
		s := &p.steps[i]
		acc := [Group]T(room[s.Init:])
		a, b := s.P, s.Q
		for range s.N {
			x, y := room[a:a+Group], room[b:b+Group]
			for l := range acc {
				acc[l] += T(x[l] * y[l])
			}
			a, b = a+s.PStep, b+s.QStep
		}
		to, scale, also := room[s.To:s.To+Group], room[s.Scale:s.Scale+Group], room[s.Also:s.Also+Group]
		for l, v := range acc {
			var w T
			switch s.Kind {
			case Scaled:
				w = v * scale[l]
			case Pivot:
				v = max(v, scale[l])
				w = -1 / v
			case Log:
				w = log(v)
			case Exp:
				w = exp(v)
			case Softplus:
				e, h := tails(v)
				v = max(v, 0) + log1p(e)
				w = bySlope(1, e, h)
			}
			to[l] = v
			also[l] = w
		}
	}
}
