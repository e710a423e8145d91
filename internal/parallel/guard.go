package parallel

import "sync/atomic"

// Guard keeps the panics of functions that a library calls on goroutines of its own, where a panic would end the
// process. The functions defer Catch. When the library has returned, Raise panics on the goroutine of its caller.
type Guard struct{ first atomic.Pointer[Panic] }

// Catch recovers a panic of the function that defers it. The first one is kept.
func (g *Guard) Catch() {
	if v := recover(); v != nil {
		g.first.CompareAndSwap(nil, Caught(v))
	}
}

// HasCaught reports whether there was a panic.
func (g *Guard) HasCaught() bool { return g.first.Load() != nil }

// Raise panics with the first *Panic that Catch recovered, if there was one.
func (g *Guard) Raise() {
	if p := g.first.Load(); p != nil {
		panic(p)
	}
}
