package kernel

import "golang.org/x/sys/cpu"

// avx2 is the set in assembly. The program docs/research/asm generates the assembly.
var avx2 = &Set{
	Name: "avx2", Stages: stagesFast, Twist: twistFast,
	LoadPair: pairFast(loadPair64AVX2), LoadPair32: pairFast(loadPair32AVX2),
	LoadComplex: loadComplexFast, StoreComplex: storeComplexFast, AddPower: powerFast, Untangle: untangleFast,
}

// fast returns the set in assembly, or nil if this processor cannot run it.
func fast() *Set {
	if cpu.X86.HasAVX2 {
		return avx2
	}
	return nil
}

// The functions below implement the functions of a Set. They check shapes, as the assembly does not.

// stagesFast implements Set.Stages. For each group and each of its interleaved vectors, the assembly
// runs the first butterflies from x to tmp, where their outputs are neighbours, and the second
// butterflies from tmp to y. Its parameters (stubs_amd64.go) are distances in bytes, radices and numbers
// of butterflies.
func stagesFast(y, x, tw, tmp []float64, a, b, q, s int, last bool) {
	const vector, factor, noTwiddles = 8 * Vec, 16, 4

	checkStages(y, x, tw, tmp, a, b, q, s, last)

	stride := s * vector
	if b == 1 { // the butterflies of all groups
		stagesAVX2(&y[0], &x[0], &tw[0], &y[0], 1, stride, 0, 0, 0, a, q, q*stride, stride, 0, 0, 0, 0, 0)
		return
	}

	second := b
	if last {
		second += noTwiddles
	}

	stagesAVX2(&y[0], &x[0], &tw[0], &tmp[0], q, stride, stride, a*b*stride, (a*b-1)*factor,
		a, b, b*q*stride, q*stride, second, a, a*vector, a*stride, stride)
}

func twistFast(y, x, near, far []float64, stride, groups int) {
	checkTwist(y, x, near, far, stride, groups)
	twistAVX2(&y[0], &x[0], &near[0], &far[0], stride, groups)
}

// pairFast returns an implementation of Set.LoadPair by f, which does not check shapes.
func pairFast[S Number](f func(dst *float64, a, b *S, row, lane *float64, meanA, meanB float64, stride, rows, jump,
	groups int)) func(dst []float64, a, b []S, row, lane []float64, meanA, meanB float64, stride, rows, jump,
	groups int) {
	return func(dst []float64, a, b []S, row, lane []float64, meanA, meanB float64, stride, rows, jump, groups int) {
		checkPair(dst, a, b, row, lane, stride, rows, jump, groups)
		f(&dst[0], &a[0], &b[0], &row[0], &lane[0], meanA, meanB, stride, rows, jump, groups)
	}
}

func loadComplexFast(dst, src []float64, stride, rows, jump, groups int) {
	checkLoad(dst, src, stride, rows, jump, groups)
	loadComplexAVX2(&dst[0], &src[0], stride, rows, jump, groups)
}

func storeComplexFast(dst, src []float64, stride, rows int) {
	checkComplex(src, dst, stride, rows)
	storeComplexAVX2(&dst[0], &src[0], stride, rows)
}

func powerFast(sum, x []float64, stride, rows int) {
	checkPower(sum, x, stride, rows)
	addPowerAVX2(&sum[0], &x[0], stride, rows)
}

func untangleFast(x, y []float32, low, high []float64, scale float64) {
	checkUntangle(x, y, low, high)
	n := len(x) &^ 7
	rest := len(high) - 2*n
	if n > 0 {
		untangleAVX2(&x[0], &y[0], &low[0], &high[len(high)-16], scale, n/8)
	}

	untangle(x[n:], y[n:], low[2*n:], high[:rest], scale)
}

// Around returns how many values of x are below mark, the greatest of them (0 if there are none), and the least of the
// other values (+Inf if there are none). No value may be negative or NaN. Package dsp finds medians by it: the assembly
// saves 4 % of a run's processor time from raw files to tables.
func Around(x []float64, mark float64) (below int, low, high float64) {
	if len(x) < 8 || !cpu.X86.HasAVX2 {
		return around(x, mark)
	}
	return aroundAVX2(&x[0], len(x), mark)
}

// Sum returns the sum of x in float64, added in 32 lanes.
func Sum[T Number](x []T) float64 {
	n := len(x) / 32
	if n == 0 || !cpu.X86.HasAVX2 {
		return sum(x)
	}

	var s [8]float64
	switch x := any(x).(type) {
	case []float64:
		sum64AVX2(&s[0], &x[0], n)
	case []float32:
		sum32AVX2(&s[0], &x[0], n)
	}

	return finish(&s, x[32*n:])
}
