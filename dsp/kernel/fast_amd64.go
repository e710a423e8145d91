package kernel

import "golang.org/x/sys/cpu"

//go:generate go -C asm run . -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg kernel
//go:generate sed -i -E "/^func.{117}/s/, (meanA) /,\\n\\t\\1 /" stubs_amd64.go

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

// pairs are the stages that there are two at once of.
var pairs = [...][2]int{{2, 3}, {2, 5}, {3, 3}, {3, 5}, {4, 2}, {4, 3}, {4, 4}, {4, 5}, {5, 5}}

// stages adds the stages to a set: of radix 2 to 5, and those of pairs.
func (set *Set[T]) stages(radix [4]func(y, x, tw *T, q, s int), last [4]func(y, x *T, s int),
	both [len(pairs)]func(y, x, tw, tmp *T, q, s int), lastBoth [len(pairs)]func(y, x, tw, tmp *T, s int),
) *Set[T] {
	for i := range radix {
		set.Radix[i+2], set.Last[i+2] = stage(i+2, radix[i]), lastStage(i+2, last[i])
	}
	for i, p := range pairs {
		set.Pair[p[0]][p[1]] = stages(p[0], p[1], both[i])
		set.LastPair[p[0]][p[1]] = lastStages(p[0], p[1], lastBoth[i])
	}
	return set
}

var avx512 = (&Set[float64]{
	Name:  "avx512",
	Twist: twistFast(twistAVX512), LoadPair: pairFast(loadPair64AVX512), LoadPair32: pairFast(loadPair32AVX512),
	LoadComplex: loadFast(loadComplexAVX512), StoreComplex: storeFast(storeComplexAVX512),
	SetPower: powerFast(setPowerAVX512), AddPower: powerFast(addPowerAVX512), Sum: sumFastAVX512, Sum32: sum32FastAVX512,
}).stages(
	[4]func(y, x, tw *float64, q, s int){radix2AVX512, radix3AVX512, radix4AVX512, radix5AVX512},
	[4]func(y, x *float64, s int){last2AVX512, last3AVX512, last4AVX512, last5AVX512},
	[len(pairs)]func(y, x, tw, tmp *float64, q, s int){
		pair23AVX512, pair25AVX512, pair33AVX512,
		pair35AVX512, pair42AVX512, pair43AVX512,
		pair44AVX512, pair45AVX512, pair55AVX512,
	},
	[len(pairs)]func(y, x, tw, tmp *float64, s int){
		lastPair23AVX512, lastPair25AVX512, lastPair33AVX512,
		lastPair35AVX512, lastPair42AVX512, lastPair43AVX512,
		lastPair44AVX512, lastPair45AVX512, lastPair55AVX512,
	},
)

var avx2 = (&Set[float64]{
	Name:  "avx2",
	Twist: twistFast(twistAVX2), LoadPair: pairFast(loadPair64AVX2), LoadPair32: pairFast(loadPair32AVX2),
	LoadComplex: loadFast(loadComplexAVX2), StoreComplex: storeFast(storeComplexAVX2),
	SetPower: powerFast(setPowerAVX2), AddPower: powerFast(addPowerAVX2), Sum: sumFastAVX2, Sum32: sum32FastAVX2,
}).stages(
	[4]func(y, x, tw *float64, q, s int){radix2AVX2, radix3AVX2, radix4AVX2, radix5AVX2},
	[4]func(y, x *float64, s int){last2AVX2, last3AVX2, last4AVX2, last5AVX2},
	[len(pairs)]func(y, x, tw, tmp *float64, q, s int){
		pair23AVX2, pair25AVX2, pair33AVX2,
		pair35AVX2, pair42AVX2, pair43AVX2,
		pair44AVX2, pair45AVX2, pair55AVX2,
	},
	[len(pairs)]func(y, x, tw, tmp *float64, s int){
		lastPair23AVX2, lastPair25AVX2, lastPair33AVX2,
		lastPair35AVX2, lastPair42AVX2, lastPair43AVX2,
		lastPair44AVX2, lastPair45AVX2, lastPair55AVX2,
	},
)

var single512 = (&Set[float32]{
	Name:  "avx512",
	Twist: twistFast(twistSingleAVX512), LoadPair32: pairSingleFast(loadPairSingleAVX512),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	SetPower: powerFast(setPowerSingleAVX512), AddPower: powerFast(addPowerSingleAVX512),
	Sum: sumFastAVX512, Sum32: sum32FastAVX512,
}).stages(
	[4]func(y, x, tw *float32, q, s int){radix2SingleAVX512, radix3SingleAVX512, radix4SingleAVX512, radix5SingleAVX512},
	[4]func(y, x *float32, s int){last2SingleAVX512, last3SingleAVX512, last4SingleAVX512, last5SingleAVX512},
	[len(pairs)]func(y, x, tw, tmp *float32, q, s int){
		pair23SingleAVX512, pair25SingleAVX512, pair33SingleAVX512,
		pair35SingleAVX512, pair42SingleAVX512, pair43SingleAVX512,
		pair44SingleAVX512, pair45SingleAVX512, pair55SingleAVX512,
	},
	[len(pairs)]func(y, x, tw, tmp *float32, s int){
		lastPair23SingleAVX512, lastPair25SingleAVX512, lastPair33SingleAVX512,
		lastPair35SingleAVX512, lastPair42SingleAVX512, lastPair43SingleAVX512,
		lastPair44SingleAVX512, lastPair45SingleAVX512, lastPair55SingleAVX512,
	},
)

var single2 = (&Set[float32]{
	Name:  "avx2",
	Twist: twistFast(twistSingleAVX2), LoadPair32: pairSingleFast(loadPairSingleAVX2),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	SetPower: powerFast(setPowerSingleAVX2), AddPower: powerFast(addPowerSingleAVX2),
	Sum: sumFastAVX2, Sum32: sum32FastAVX2,
}).stages(
	[4]func(y, x, tw *float32, q, s int){radix2SingleAVX2, radix3SingleAVX2, radix4SingleAVX2, radix5SingleAVX2},
	[4]func(y, x *float32, s int){last2SingleAVX2, last3SingleAVX2, last4SingleAVX2, last5SingleAVX2},
	[len(pairs)]func(y, x, tw, tmp *float32, q, s int){
		pair23SingleAVX2, pair25SingleAVX2, pair33SingleAVX2,
		pair35SingleAVX2, pair42SingleAVX2, pair43SingleAVX2,
		pair44SingleAVX2, pair45SingleAVX2, pair55SingleAVX2,
	},
	[len(pairs)]func(y, x, tw, tmp *float32, s int){
		lastPair23SingleAVX2, lastPair25SingleAVX2, lastPair33SingleAVX2,
		lastPair35SingleAVX2, lastPair42SingleAVX2, lastPair43SingleAVX2,
		lastPair44SingleAVX2, lastPair45SingleAVX2, lastPair55SingleAVX2,
	},
)

// The wrappers check shapes, which the assembly does not.

func stage[T Number](r int, f func(y, x, tw *T, q, s int)) func(y, x, tw []T, q, s int) {
	return func(y, x, tw []T, q, s int) {
		checkRadix(y, x, tw, r, q, s)
		f(&y[0], &x[0], &tw[0], q, s)
	}
}

func lastStage[T Number](r int, f func(y, x *T, s int)) func(y, x []T, s int) {
	return func(y, x []T, s int) {
		n := r * s * Vec[T]()
		need(s > 0 && len(y) >= n && len(x) >= n)
		f(&y[0], &x[0], s)
	}
}

func stages[T Number](a, b int, f func(y, x, tw, tmp *T, q, s int)) func(y, x, tw, tmp []T, q, s int) {
	return func(y, x, tw, tmp []T, q, s int) {
		checkStages(y, x, tw, tmp, a, b, q, s)
		f(&y[0], &x[0], &tw[0], &tmp[0], q, s)
	}
}

func lastStages[T Number](a, b int, f func(y, x, tw, tmp *T, s int)) func(y, x, tw, tmp []T, s int) {
	return func(y, x, tw, tmp []T, s int) {
		checkLastStages(y, x, tw, tmp, a, b, s)
		f(&y[0], &x[0], &tw[0], &tmp[0], s)
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

// The sums call their assembly by name: through a variable the compiler could
// not know that the partial sums do not escape.

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
