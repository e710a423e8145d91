// Package parallel calls a function for each of many numbers on several goroutines. A panic of one of them is one of
// the caller, who can recover it, with its place.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

// Do calls f(0), …, f(n−1) on so many goroutines, or on this one where it is one.
func Do(workers, n int, f func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}

	var next atomic.Int64
	var failed atomic.Pointer[Panic]
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					failed.CompareAndSwap(nil, Caught(v))
					next.Store(int64(n))
				}
			}()

			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}

	wg.Wait()

	if p := failed.Load(); p != nil {
		panic(p)
	}
}

// Panic is a panic where it happened.
type Panic struct {
	Value any
	Place string // function and line
	Stack []byte
}

// Caught describes what recover returned to the deferred function that calls.
func Caught(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}

	p := &Panic{Value: value, Stack: debug.Stack()}
	calls := make([]uintptr, 128)
	frames := runtime.CallersFrames(calls[:runtime.Callers(1, calls)])
	panicked := false
	for f, more := frames.Next(); more; f, more = frames.Next() {
		switch own := strings.HasPrefix(f.Function, "runtime."); {
		case panicked && strings.HasSuffix(f.Function, "/fault.Catch"): // which passes it on: the first is further down
			panicked = false
		case panicked && !own:
			p.Place = fmt.Sprintf("%s, line %d", f.Function, f.Line)
			return p
		}

		panicked = panicked || f.Function == "runtime.gopanic"
	}

	return p
}
