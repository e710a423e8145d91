package gp

import (
	"runtime"
	"sync"
)

// The largest sizes, in numbers of eight bytes, of the factors that a model keeps in memory, for all outcomes together.
// A larger model factorises the process of an outcome each time that the process is needed. A model that was fitted is
// asked a few times only, while other tasks fit models too; a model that was read predicts block after block.
const (
	keptFitted = 8 << 20  // 64 MiB
	keptRead   = 16 << 20 // 128 MiB
)

// lentNumbers limits the numbers of eight bytes that are lent at a time: 96 MiB for each processor that Go uses.
const lentNumbers = 12 << 20

// lender lends slices for the large matrices of models that do not keep their factors. It limits the memory that is
// lent at a time, and lends slices again that were given back.
type lender struct {
	mutex    sync.Mutex // of lent
	returned *sync.Cond // is woken when a slice was given back
	lent     int        // numbers that are lent at present
	idle     sync.Pool  // slices that were given back, as *[]float64
}

// matrices is shared by all models, because several models can be asked at the same time.
var matrices = newLender()

func newLender() *lender {
	l := &lender{}
	l.returned = sync.NewCond(&l.mutex)

	return l
}

// borrow returns a slice of the given length with arbitrary contents. It waits while the slice and the numbers that
// are lent would exceed the limit. If nothing is lent, it does not wait, so that a single slice may exceed the limit.
// A caller must give a slice back before it borrows another: otherwise two callers can wait for each other.
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

// giveBack ends the loan of a slice that borrow returned. The caller must not use the slice any more.
func (l *lender) giveBack(room []float64) {
	l.idle.Put(&room)
	l.mutex.Lock()
	defer l.mutex.Unlock()

	l.lent -= len(room)
	l.returned.Broadcast()
}
