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

var avx512 = &Set[float64]{
	Name: "avx512",
	Radix: [6]func(y, x, tw []float64, q, s int){
		2: stage(2, radix2AVX512),
		3: stage(3, radix3AVX512),
		4: stage(4, radix4AVX512),
		5: stage(5, radix5AVX512),
	},
	Last: [6]func(y, x []float64, s int){
		2: lastStage(2, last2AVX512),
		3: lastStage(3, last3AVX512),
		4: lastStage(4, last4AVX512),
		5: lastStage(5, last5AVX512),
	},
	Pair: [6][6]func(y, x, tw, tmp []float64, q, s int){
		2: {
			3: stages(2, 3, pair23AVX512),
			5: stages(2, 5, pair25AVX512),
		},
		3: {
			3: stages(3, 3, pair33AVX512),
			5: stages(3, 5, pair35AVX512),
		},
		4: {
			2: stages(4, 2, pair42AVX512),
			3: stages(4, 3, pair43AVX512),
			4: stages(4, 4, pair44AVX512),
			5: stages(4, 5, pair45AVX512),
		},
		5: {
			5: stages(5, 5, pair55AVX512),
		},
	},
	LastPair: [6][6]func(y, x, tw, tmp []float64, s int){
		2: {
			3: lastStages(2, 3, lastPair23AVX512),
			5: lastStages(2, 5, lastPair25AVX512),
		},
		3: {
			3: lastStages(3, 3, lastPair33AVX512),
			5: lastStages(3, 5, lastPair35AVX512),
		},
		4: {
			2: lastStages(4, 2, lastPair42AVX512),
			3: lastStages(4, 3, lastPair43AVX512),
			4: lastStages(4, 4, lastPair44AVX512),
			5: lastStages(4, 5, lastPair45AVX512),
		},
		5: {
			5: lastStages(5, 5, lastPair55AVX512),
		},
	},
	Twist: twistFast(twistAVX512), LoadPair: pairFast(loadPair64AVX512), LoadPair32: pairFast(loadPair32AVX512),
	LoadComplex: loadFast(loadComplexAVX512), StoreComplex: storeFast(storeComplexAVX512),
	SetPower: powerFast(setPowerAVX512), AddPower: powerFast(addPowerAVX512), Sum: sumFastAVX512, Sum32: sum32FastAVX512,
}

var avx2 = &Set[float64]{
	Name: "avx2",
	Radix: [6]func(y, x, tw []float64, q, s int){
		2: stage(2, radix2AVX2),
		3: stage(3, radix3AVX2),
		4: stage(4, radix4AVX2),
		5: stage(5, radix5AVX2),
	},
	Last: [6]func(y, x []float64, s int){
		2: lastStage(2, last2AVX2),
		3: lastStage(3, last3AVX2),
		4: lastStage(4, last4AVX2),
		5: lastStage(5, last5AVX2),
	},
	Pair: [6][6]func(y, x, tw, tmp []float64, q, s int){
		2: {
			3: stages(2, 3, pair23AVX2),
			5: stages(2, 5, pair25AVX2),
		},
		3: {
			3: stages(3, 3, pair33AVX2),
			5: stages(3, 5, pair35AVX2),
		},
		4: {
			2: stages(4, 2, pair42AVX2),
			3: stages(4, 3, pair43AVX2),
			4: stages(4, 4, pair44AVX2),
			5: stages(4, 5, pair45AVX2),
		},
		5: {
			5: stages(5, 5, pair55AVX2),
		},
	},
	LastPair: [6][6]func(y, x, tw, tmp []float64, s int){
		2: {
			3: lastStages(2, 3, lastPair23AVX2),
			5: lastStages(2, 5, lastPair25AVX2),
		},
		3: {
			3: lastStages(3, 3, lastPair33AVX2),
			5: lastStages(3, 5, lastPair35AVX2),
		},
		4: {
			2: lastStages(4, 2, lastPair42AVX2),
			3: lastStages(4, 3, lastPair43AVX2),
			4: lastStages(4, 4, lastPair44AVX2),
			5: lastStages(4, 5, lastPair45AVX2),
		},
		5: {
			5: lastStages(5, 5, lastPair55AVX2),
		},
	},
	Twist: twistFast(twistAVX2), LoadPair: pairFast(loadPair64AVX2), LoadPair32: pairFast(loadPair32AVX2),
	LoadComplex: loadFast(loadComplexAVX2), StoreComplex: storeFast(storeComplexAVX2),
	SetPower: powerFast(setPowerAVX2), AddPower: powerFast(addPowerAVX2), Sum: sumFastAVX2, Sum32: sum32FastAVX2,
}

var single512 = &Set[float32]{
	Name: "avx512",
	Radix: [6]func(y, x, tw []float32, q, s int){
		2: stage(2, radix2SingleAVX512),
		3: stage(3, radix3SingleAVX512),
		4: stage(4, radix4SingleAVX512),
		5: stage(5, radix5SingleAVX512),
	},
	Last: [6]func(y, x []float32, s int){
		2: lastStage(2, last2SingleAVX512),
		3: lastStage(3, last3SingleAVX512),
		4: lastStage(4, last4SingleAVX512),
		5: lastStage(5, last5SingleAVX512),
	},
	Pair: [6][6]func(y, x, tw, tmp []float32, q, s int){
		2: {
			3: stages(2, 3, pair23SingleAVX512),
			5: stages(2, 5, pair25SingleAVX512),
		},
		3: {
			3: stages(3, 3, pair33SingleAVX512),
			5: stages(3, 5, pair35SingleAVX512),
		},
		4: {
			2: stages(4, 2, pair42SingleAVX512),
			3: stages(4, 3, pair43SingleAVX512),
			4: stages(4, 4, pair44SingleAVX512),
			5: stages(4, 5, pair45SingleAVX512),
		},
		5: {
			5: stages(5, 5, pair55SingleAVX512),
		},
	},
	LastPair: [6][6]func(y, x, tw, tmp []float32, s int){
		2: {
			3: lastStages(2, 3, lastPair23SingleAVX512),
			5: lastStages(2, 5, lastPair25SingleAVX512),
		},
		3: {
			3: lastStages(3, 3, lastPair33SingleAVX512),
			5: lastStages(3, 5, lastPair35SingleAVX512),
		},
		4: {
			2: lastStages(4, 2, lastPair42SingleAVX512),
			3: lastStages(4, 3, lastPair43SingleAVX512),
			4: lastStages(4, 4, lastPair44SingleAVX512),
			5: lastStages(4, 5, lastPair45SingleAVX512),
		},
		5: {
			5: lastStages(5, 5, lastPair55SingleAVX512),
		},
	},
	Twist: twistFast(twistSingleAVX512), LoadPair32: pairSingleFast(loadPairSingleAVX512),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	SetPower: powerFast(setPowerSingleAVX512), AddPower: powerFast(addPowerSingleAVX512),
	Sum: sumFastAVX512, Sum32: sum32FastAVX512,
}

var single2 = &Set[float32]{
	Name: "avx2",
	Radix: [6]func(y, x, tw []float32, q, s int){
		2: stage(2, radix2SingleAVX2),
		3: stage(3, radix3SingleAVX2),
		4: stage(4, radix4SingleAVX2),
		5: stage(5, radix5SingleAVX2),
	},
	Last: [6]func(y, x []float32, s int){
		2: lastStage(2, last2SingleAVX2),
		3: lastStage(3, last3SingleAVX2),
		4: lastStage(4, last4SingleAVX2),
		5: lastStage(5, last5SingleAVX2),
	},
	Pair: [6][6]func(y, x, tw, tmp []float32, q, s int){
		2: {
			3: stages(2, 3, pair23SingleAVX2),
			5: stages(2, 5, pair25SingleAVX2),
		},
		3: {
			3: stages(3, 3, pair33SingleAVX2),
			5: stages(3, 5, pair35SingleAVX2),
		},
		4: {
			2: stages(4, 2, pair42SingleAVX2),
			3: stages(4, 3, pair43SingleAVX2),
			4: stages(4, 4, pair44SingleAVX2),
			5: stages(4, 5, pair45SingleAVX2),
		},
		5: {
			5: stages(5, 5, pair55SingleAVX2),
		},
	},
	LastPair: [6][6]func(y, x, tw, tmp []float32, s int){
		2: {
			3: lastStages(2, 3, lastPair23SingleAVX2),
			5: lastStages(2, 5, lastPair25SingleAVX2),
		},
		3: {
			3: lastStages(3, 3, lastPair33SingleAVX2),
			5: lastStages(3, 5, lastPair35SingleAVX2),
		},
		4: {
			2: lastStages(4, 2, lastPair42SingleAVX2),
			3: lastStages(4, 3, lastPair43SingleAVX2),
			4: lastStages(4, 4, lastPair44SingleAVX2),
			5: lastStages(4, 5, lastPair45SingleAVX2),
		},
		5: {
			5: lastStages(5, 5, lastPair55SingleAVX2),
		},
	},
	Twist: twistFast(twistSingleAVX2), LoadPair32: pairSingleFast(loadPairSingleAVX2),
	LoadComplex: loadComplex[float32], StoreComplex: storeComplex[float32],
	SetPower: powerFast(setPowerSingleAVX2), AddPower: powerFast(addPowerSingleAVX2),
	Sum: sumFastAVX2, Sum32: sum32FastAVX2,
}

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
