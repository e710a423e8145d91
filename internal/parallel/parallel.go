// Package parallel calls a function for each of many numbers on several goroutines. If a call panics, the goroutine of
// the caller panics with a [Panic], which says where the first panic was, so that the caller can recover it.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

// Do calls f(0), …, f(n−1) on the given number of goroutines, and returns when all calls have returned. With one
// worker or fewer, it calls f on the caller's goroutine. After a panic, it starts no other calls.
func Do(workers, n int, f func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}

	var next atomic.Int64            // number of the next call
	var failed atomic.Pointer[Panic] // the first panic; nil if there was none
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					failed.CompareAndSwap(nil, Caught(v))
					next.Store(int64(n)) // no other calls
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

// Try calls f(0), …, f(n−1) as Do does, and returns the error of the smallest number whose call failed. After a call
// has failed, it starts no calls with larger numbers. Calls are started in the order of the numbers, so the error is
// the same for any number of workers.
func Try(workers, n int, f func(i int) error) error {
	var mutex sync.Mutex // guards first and failed
	var first error      // error of the call with the number failed
	failed := n          // smallest number whose call failed; n if none did

	Do(workers, n, func(i int) {
		mutex.Lock()
		skip := failed < i
		mutex.Unlock()
		if skip {
			return
		}

		err := f(i)
		if err == nil {
			return
		}

		mutex.Lock()
		defer mutex.Unlock()
		if i < failed {
			first = err
			failed = i
		}
	})

	return first
}

// Panic describes a panic.
type Panic struct {
	Value any    // the value of the panic
	Place string // function and line that panicked; "" if unknown
	Stack []byte // stack of the goroutine that panicked, for people
}

// Caught describes a panic. A deferred function calls it with the value that recover returned. If the value is a *Panic
// already, Caught returns it.
//
// The place of the panic is the first function on the stack that called panic or failed in the runtime. decode.Catch
// panics again with a panic that it does not handle, so the place is further down the stack then.
func Caught(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}

	p := &Panic{Value: value, Stack: debug.Stack()}
	calls := make([]uintptr, 128)
	frames := runtime.CallersFrames(calls[:runtime.Callers(1, calls)])
	panicked := false
	for f, more := frames.Next(); more; f, more = frames.Next() {
		passesOn := strings.HasSuffix(f.Function, "/decode.Catch")
		isRuntime := strings.HasPrefix(f.Function, "runtime.")
		switch {
		case panicked && passesOn:
			panicked = false
		case panicked && !isRuntime:
			p.Place = fmt.Sprintf("%s, line %d", f.Function, f.Line)
			return p
		case f.Function == "runtime.gopanic":
			panicked = true
		}
	}

	return p
}
