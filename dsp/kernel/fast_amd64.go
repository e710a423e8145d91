package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

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
	Name: "avx512", Stages: stagesFast512, Twist: twistFast(twistAVX512),
	LoadPair: pairFast(loadPair64AVX512), LoadPair32: pairFast(loadPair32AVX512),
	LoadComplex: loadFast(loadComplexAVX512), StoreComplex: storeFast(storeComplexAVX512),
	AddPower: powerFast(addPowerAVX512), Sum: sumFastAVX512, Sum32: sum32FastAVX512,
}

var avx2 = &Set[float64]{
	Name: "avx2", Stages: stagesFast2, Twist: twistFast(twistAVX2),
	LoadPair: pairFast(loadPair64AVX2), LoadPair32: pairFast(loadPair32AVX2),
	LoadComplex: loadFast(loadComplexAVX2), StoreComplex: storeFast(storeComplexAVX2),
	AddPower: powerFast(addPowerAVX2), Sum: sumFastAVX2, Sum32: sum32FastAVX2,
}

var single512 = &Set[float32]{
	Name: "avx512", Stages: stagesFastSingle512, Twist: twistFast(twistSingleAVX512),
	LoadPair32:  pairSingleFast(loadPairSingleAVX512),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	AddPower: powerFast(addPowerSingleAVX512), Sum: sumFastAVX512, Sum32: sum32FastAVX512,
}

var single2 = &Set[float32]{
	Name: "avx2", Stages: stagesFastSingle2, Twist: twistFast(twistSingleAVX2),
	LoadPair32:  pairSingleFast(loadPairSingleAVX2),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	AddPower: powerFast(addPowerSingleAVX2), Sum: sumFastAVX2, Sum32: sum32FastAVX2,
}

// plan is what the assembly of Stages does: for each group, for each vector, the first
// butterflies from x to tmp, where outputs are neighbours, and the second from there to y.
// Distances are bytes.
type plan struct {
	groups, vectors                     int // vectors: of the interleaved sequences
	nextX, nextY, nextTwiddles          int // to the next group's
	radix, count, in, nextIn            int // between the inputs of one, to the next one's
	radix2, count2, in2, out2, nextOut2 int // radix2: +noTwiddles; 0: there are none
}

const noTwiddles = 4

func newPlan[T Number](a, b, q, s int, last bool) plan {
	const vector = 128
	factor := vector / Lanes[T]() // a complex number
	stride := s * vector
	if b == 1 { // all groups together
		return plan{groups: 1, vectors: stride, radix: a, count: q, in: q * stride, nextIn: stride}
	}

	p := plan{
		groups: q, vectors: stride, nextX: stride, nextY: a * b * stride, nextTwiddles: (a*b - 1) * factor,
		radix: a, count: b, in: b * q * stride, nextIn: q * stride,
		radix2: b, count2: a, in2: a * vector, out2: a * stride, nextOut2: stride,
	}
	if last {
		p.radix2 += noTwiddles
	}
	return p
}

// The wrappers check shapes, which the assembly does not.

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

// What takes memory of the caller's stack calls its assembly by name: through a variable
// the compiler could not know that it does not escape.

func stagesFast512(y, x, tw, tmp []float64, a, b, q, s int, last bool) {
	checkStages(y, x, tw, tmp, a, b, q, s, last)
	if b == 1 {
		tmp = y
	}
	p := newPlan[float64](a, b, q, s, last)
	stagesAVX512(unsafe.SliceData(y), unsafe.SliceData(x), unsafe.SliceData(tw), unsafe.SliceData(tmp), &p.groups)
}

func stagesFast2(y, x, tw, tmp []float64, a, b, q, s int, last bool) {
	checkStages(y, x, tw, tmp, a, b, q, s, last)
	if b == 1 {
		tmp = y
	}
	p := newPlan[float64](a, b, q, s, last)
	stagesAVX2(unsafe.SliceData(y), unsafe.SliceData(x), unsafe.SliceData(tw), unsafe.SliceData(tmp), &p.groups)
}

func stagesFastSingle512(y, x, tw, tmp []float32, a, b, q, s int, last bool) {
	checkStages(y, x, tw, tmp, a, b, q, s, last)
	if b == 1 {
		tmp = y
	}
	p := newPlan[float32](a, b, q, s, last)
	stagesSingleAVX512(unsafe.SliceData(y), unsafe.SliceData(x), unsafe.SliceData(tw), unsafe.SliceData(tmp), &p.groups)
}

func stagesFastSingle2(y, x, tw, tmp []float32, a, b, q, s int, last bool) {
	checkStages(y, x, tw, tmp, a, b, q, s, last)
	if b == 1 {
		tmp = y
	}
	p := newPlan[float32](a, b, q, s, last)
	stagesSingleAVX2(unsafe.SliceData(y), unsafe.SliceData(x), unsafe.SliceData(tw), unsafe.SliceData(tmp), &p.groups)
}

func sumFastAVX512(x []float64) float64 {
	var s [8]float64
	if n := len(x) / 32; n > 0 {
		sum64AVX512(&s[0], &x[0], n)
	}
	return finish(&s, x[len(x)&^31:])
}

func sum32FastAVX512(x []float32) float64 {
	var s [8]float64
	if n := len(x) / 32; n > 0 {
		sum32AVX512(&s[0], &x[0], n)
	}
	return finish(&s, x[len(x)&^31:])
}

func sumFastAVX2(x []float64) float64 {
	var s [8]float64
	if n := len(x) / 32; n > 0 {
		sum64AVX2(&s[0], &x[0], n)
	}
	return finish(&s, x[len(x)&^31:])
}

func sum32FastAVX2(x []float32) float64 {
	var s [8]float64
	if n := len(x) / 32; n > 0 {
		sum32AVX2(&s[0], &x[0], n)
	}
	return finish(&s, x[len(x)&^31:])
}
