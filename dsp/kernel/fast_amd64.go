package kernel

import "golang.org/x/sys/cpu"

//go:generate go run doubletake/cmd/asm dsp

var fastSets, fastSets32 = detect()

func detect() (sets []*Set[float64], single []*Set[float32]) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX2 {
		sets, single = append(sets, avx512), append(single, single512)
	}

	if x.HasAVX2 {
		sets, single = append(sets, avx2), append(single, single2)
	}

	return sets, single
}

var avx512 = &Set[float64]{
	Name: "avx512", Stages: stagesFast(stagesAVX512), Twist: twistFast(twistAVX512),
	LoadPair: pairFast(loadPair64AVX512), LoadPair32: pairFast(loadPair32AVX512),
	LoadComplex: loadFast(loadComplexAVX512), StoreComplex: storeFast(storeComplexAVX512),
	AddPower: powerFast(addPowerAVX512), Untangle: untangleFast(untangleAVX512),
	Around: aroundFast, Log: logFast, Sum: sumFast, Sum32: sum32Fast,
}

var avx2 = &Set[float64]{
	Name: "avx2", Stages: stagesFast(stagesAVX2), Twist: twistFast(twistAVX2),
	LoadPair: pairFast(loadPair64AVX2), LoadPair32: pairFast(loadPair32AVX2),
	LoadComplex: loadFast(loadComplexAVX2), StoreComplex: storeFast(storeComplexAVX2),
	AddPower: powerFast(addPowerAVX2), Untangle: untangleFast(untangleAVX2),
	Around: aroundFast, Log: logFast, Sum: sumFast, Sum32: sum32Fast,
}

var single512 = &Set[float32]{
	Name: "avx512", Stages: stagesFast(stagesSingleAVX512), Twist: twistFast(twistSingleAVX512),
	LoadPair32:  pairSingleFast(loadPairSingleAVX512),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	AddPower: powerFast(addPowerSingleAVX512), Untangle: untangleFast(untangleSingleAVX512),
	Around: aroundFast, Log: logFast, Sum: sumFast, Sum32: sum32Fast,
}

var single2 = &Set[float32]{
	Name: "avx2", Stages: stagesFast(stagesSingleAVX2), Twist: twistFast(twistSingleAVX2),
	LoadPair32:  pairSingleFast(loadPairSingleAVX2),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	AddPower: powerFast(addPowerSingleAVX2), Untangle: untangleFast(untangleSingleAVX2),
	Around: aroundFast, Log: logFast, Sum: sumFast, Sum32: sum32Fast,
}

// The wrappers check shapes, which the assembly does not.

// stagesFast tells the assembly of Stages what to do for each group, for each of its
// interleaved vectors: the first butterflies from x to tmp, where outputs are neighbours,
// and the second from there to y. Distances are bytes.
func stagesFast[T Number](f func(y, x, tw, tmp *T, groups, vectors, nextX, nextY, nextTwiddles, radix, count, in,
	nextIn, radix2, count2, in2, out2, nextOut2 int),
) func(y, x, tw, tmp []T, a, b, q, s int, last bool) {
	const vector, noTwiddles = 128, 4
	factor := vector / Lanes[T]() // a complex number

	return func(y, x, tw, tmp []T, a, b, q, s int, last bool) {
		checkStages(y, x, tw, tmp, a, b, q, s, last)

		stride := s * vector
		if b == 1 { // the butterflies of all groups
			f(&y[0], &x[0], &tw[0], &y[0], 1, stride, 0, 0, 0, a, q, q*stride, stride, 0, 0, 0, 0, 0)
			return
		}

		second := b
		if last {
			second += noTwiddles
		}

		f(&y[0], &x[0], &tw[0], &tmp[0], q, stride, stride, a*b*stride, (a*b-1)*factor,
			a, b, b*q*stride, q*stride, second, a, a*vector, a*stride, stride)
	}
}

func twistFast[T Number](f func(y, x, near, far *T, stride, groups int)) func(y, x, near, far []T, stride,
	groups int) {
	return func(y, x, near, far []T, stride, groups int) {
		checkTwist(y, x, near, far, stride, groups)
		f(&y[0], &x[0], &near[0], &far[0], stride, groups)
	}
}

func pairFast[S Number](f func(dst *float64, a, b *S, row, lane *float64, meanA, meanB float64, stride, rows, jump,
	groups int)) func(dst []float64, a, b []S, row, lane []float64, meanA, meanB float64, stride, rows, jump,
	groups int) {
	return func(dst []float64, a, b []S, row, lane []float64, meanA, meanB float64, stride, rows, jump, groups int) {
		checkPair(dst, a, b, row, lane, stride, rows, jump, groups)
		f(&dst[0], &a[0], &b[0], &row[0], &lane[0], meanA, meanB, stride, rows, jump, groups)
	}
}

func pairSingleFast(f func(dst, a, b, row, lane *float32, meanA, meanB, restA, restB float32, stride, rows, jump,
	groups int),
) func(dst, a, b, row, lane []float32, meanA, meanB float64, stride, rows, jump, groups int) {
	return func(dst, a, b, row, lane []float32, meanA, meanB float64, stride, rows, jump, groups int) {
		checkPair(dst, a, b, row, lane, stride, rows, jump, groups)
		hiA, loA := parts[float32](meanA)
		hiB, loB := parts[float32](meanB)
		f(&dst[0], &a[0], &b[0], &row[0], &lane[0], hiA, hiB, loA, loB, stride, rows, jump, groups)
	}
}

func loadFast[T Number](f func(dst, src *T, stride, rows, jump, groups int)) func(dst, src []T, stride, rows, jump,
	groups int) {
	return func(dst, src []T, stride, rows, jump, groups int) {
		checkLoad(dst, src, stride, rows, jump, groups)
		f(&dst[0], &src[0], stride, rows, jump, groups)
	}
}

func storeFast[T Number](f func(dst, src *T, stride, rows int)) func(dst, src []T, stride, rows int) {
	return func(dst, src []T, stride, rows int) {
		checkComplex(src, dst, stride, rows)
		f(&dst[0], &src[0], stride, rows)
	}
}

func powerFast[T Number](f func(sum *float64, x *T, stride, rows int)) func(sum []float64, x []T, stride, rows int) {
	return func(sum []float64, x []T, stride, rows int) {
		checkPower(sum, x, stride, rows)
		f(&sum[0], &x[0], stride, rows)
	}
}

func untangleFast[T Number](f func(x, y *float32, low, high *T, scale float64, blocks int)) func(x, y []float32,
	low, high []T, scale float64) {
	return func(x, y []float32, low, high []T, scale float64) {
		checkUntangle(x, y, low, high)
		n, rest := len(x)&^7, len(high)-2*(len(x)&^7)
		if n > 0 {
			f(&x[0], &y[0], &low[0], &high[len(high)-16], scale, n/8)
		}

		untangle(x[n:], y[n:], low[2*n:], high[:rest], scale)
	}
}

func aroundFast(x []float64, mark float64) (below int, low, high float64) {
	if len(x) < 8 {
		return around(x, mark)
	}
	return aroundAVX2(&x[0], len(x), mark)
}

func logFast(x []float64) {
	if n := len(x) / 4; n > 0 {
		logAVX2(&x[0], n)
	}

	logs(x[len(x)&^3:])
}

// The sums call their assembly by name: through a variable the compiler could
// not know that the partial sums do not escape.

func sumFast(x []float64) float64 {
	var s [8]float64
	if n := len(x) / 32; n > 0 {
		sum64AVX2(&s[0], &x[0], n)
	}

	return finish(&s, x[len(x)&^31:])
}

func sum32Fast(x []float32) float64 {
	var s [8]float64
	if n := len(x) / 32; n > 0 {
		sum32AVX2(&s[0], &x[0], n)
	}

	return finish(&s, x[len(x)&^31:])
}
