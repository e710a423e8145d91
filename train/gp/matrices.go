package gp

import (
	"runtime"
	"sync"
)

// keptNumbers is the size of the factors of all outcomes up to which a model keeps them, in numbers of eight bytes. A
// larger model factorises the process of an outcome each time it is needed.
const keptNumbers = 16 << 20

// lentNumbers is the size of the large matrices that a processor may have in memory, in numbers of eight bytes.
const lentNumbers = 12 << 20

// lender lends room for large matrices, so that their memory is bounded and used again. It is shared by all models,
// because models are fitted at the same time.
type lender struct {
	mutex    sync.Mutex
	returned *sync.Cond
	lent     int       // numbers
	idle     sync.Pool // of *[]float64
}

// matrices lends the rooms of this process.
var matrices = newLender()

func newLender() *lender {
	l := &lender{}
	l.returned = sync.NewCond(&l.mutex)

	return l
}

// borrow returns room for so many numbers, whatever they are. It waits until other rooms have come back, unless none is
// lent. A caller must not borrow twice before it gives back, or two callers may wait for each other.
func (l *lender) borrow(numbers int) []float64 {
	l.mutex.Lock()
	for l.lent > 0 && l.lent+numbers > lentNumbers*runtime.GOMAXPROCS(0) {
		l.returned.Wait()
	}

	l.lent += numbers
	l.mutex.Unlock()

	if room, ok := l.idle.Get().(*[]float64); ok && cap(*room) >= numbers {
		return (*room)[:numbers]
	}

	return make([]float64, numbers)
}

// giveBack takes a room back.
func (l *lender) giveBack(room []float64) {
	l.idle.Put(&room)
	l.mutex.Lock()
	defer l.mutex.Unlock()

	l.lent -= len(room)
	l.returned.Broadcast()
}
