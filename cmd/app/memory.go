package app

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// usualMemory is the memory that the program asks Go to stay below, 400 MiB. The collector runs each time the heap has
// doubled, so that without a bound a campaign whose tasks use 300 MB would take 600 MB. Large slices of numbers have no
// pointers, and the collector does not read them: frequent collections cost less than a hundredth of the time.
const usualMemory = 400 << 20

// limitMemory bounds the memory of the program until the process ends, unless the user set GOMEMLIMIT. If more is in
// use than fits below the bound, it raises the bound, because the collector would otherwise run all the time.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}

	debug.SetMemoryLimit(usualMemory)
	afterCollection(usualMemory)
}

// afterCollection sets the bound anew after the next collection, and after each later one. bound is the present one.
func afterCollection(bound int64) {
	adjust := func(bound int64) {
		needed := memoryBound(liveBytes())
		if needed != bound {
			debug.SetMemoryLimit(needed)
		}

		afterCollection(needed)
	}
	runtime.AddCleanup(new([64]byte), adjust, bound) // nothing refers to the 64 bytes: the next collection frees them
}

// memoryBound returns the bound of the memory if the given number of bytes is in use: half as much again, and
// usualMemory at least.
func memoryBound(live int64) int64 { return max(usualMemory, live+live/2) }

// liveBytes returns the bytes that the last collection found in use.
func liveBytes() int64 {
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample)
	if sample[0].Value.Kind() != runtimemetrics.KindUint64 {
		return 0
	}

	return int64(sample[0].Value.Uint64())
}
