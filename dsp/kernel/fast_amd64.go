package kernel

import "golang.org/x/sys/cpu"

//go:generate go -C asm run . -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg kernel
//go:generate sed -i -E "/^func.{117}/s/, (meanA) /,\\n\\t\\1 /" stubs_amd64.go

func fast() []*Set { return fastSets }

var fastSets = detect()

func detect() (sets []*Set) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX2 {
		sets = append(sets, &Set{
			Name: "avx512",
			Radix: [6]func(y, x, tw []float64, q, s int){
				2: stage(2, radix2AVX512), 3: stage(3, radix3AVX512), 4: stage(4, radix4AVX512), 5: stage(5, radix5AVX512),
			},
			Last: [6]func(y, x []float64, s int){
				2: lastStage(2, last2AVX512), 3: lastStage(3, last3AVX512), 4: lastStage(4, last4AVX512),
				5: lastStage(5, last5AVX512),
			},
			Pair: [6][6]func(y, x, tw, tmp []float64, q, s int){
				2: {3: stages(2, 3, pair23AVX512), 5: stages(2, 5, pair25AVX512)},
				3: {3: stages(3, 3, pair33AVX512), 5: stages(3, 5, pair35AVX512)},
				4: {
					2: stages(4, 2, pair42AVX512), 3: stages(4, 3, pair43AVX512), 4: stages(4, 4, pair44AVX512),
					5: stages(4, 5, pair45AVX512),
				},
				5: {5: stages(5, 5, pair55AVX512)},
			},
			LastPair: [6][6]func(y, x, tw, tmp []float64, s int){
				2: {3: lastStages(2, 3, lastPair23AVX512), 5: lastStages(2, 5, lastPair25AVX512)},
				3: {3: lastStages(3, 3, lastPair33AVX512), 5: lastStages(3, 5, lastPair35AVX512)},
				4: {
					2: lastStages(4, 2, lastPair42AVX512), 3: lastStages(4, 3, lastPair43AVX512),
					4: lastStages(4, 4, lastPair44AVX512), 5: lastStages(4, 5, lastPair45AVX512),
				},
				5: {5: lastStages(5, 5, lastPair55AVX512)},
			},
			Twist: twistFast(twistAVX512), LoadPair: pairFast(loadPair64AVX512), LoadPair32: pair32Fast(loadPair32AVX512),
			LoadComplex: loadFast(loadComplexAVX512), StoreComplex: storeFast(storeComplexAVX512),
			SetPower: powerFast(setPowerAVX512), AddPower: powerFast(addPowerAVX512), Sum: sumFastAVX512, Sum32: sum32FastAVX512,
		})
	}
	if x.HasAVX2 {
		sets = append(sets, &Set{
			Name: "avx2",
			Radix: [6]func(y, x, tw []float64, q, s int){
				2: stage(2, radix2AVX2), 3: stage(3, radix3AVX2), 4: stage(4, radix4AVX2), 5: stage(5, radix5AVX2),
			},
			Last: [6]func(y, x []float64, s int){
				2: lastStage(2, last2AVX2), 3: lastStage(3, last3AVX2), 4: lastStage(4, last4AVX2), 5: lastStage(5, last5AVX2),
			},
			Pair: [6][6]func(y, x, tw, tmp []float64, q, s int){
				2: {3: stages(2, 3, pair23AVX2), 5: stages(2, 5, pair25AVX2)},
				3: {3: stages(3, 3, pair33AVX2), 5: stages(3, 5, pair35AVX2)},
				4: {
					2: stages(4, 2, pair42AVX2), 3: stages(4, 3, pair43AVX2), 4: stages(4, 4, pair44AVX2),
					5: stages(4, 5, pair45AVX2),
				},
				5: {5: stages(5, 5, pair55AVX2)},
			},
			LastPair: [6][6]func(y, x, tw, tmp []float64, s int){
				2: {3: lastStages(2, 3, lastPair23AVX2), 5: lastStages(2, 5, lastPair25AVX2)},
				3: {3: lastStages(3, 3, lastPair33AVX2), 5: lastStages(3, 5, lastPair35AVX2)},
				4: {
					2: lastStages(4, 2, lastPair42AVX2), 3: lastStages(4, 3, lastPair43AVX2), 4: lastStages(4, 4, lastPair44AVX2),
					5: lastStages(4, 5, lastPair45AVX2),
				},
				5: {5: lastStages(5, 5, lastPair55AVX2)},
			},
			Twist: twistFast(twistAVX2), LoadPair: pairFast(loadPair64AVX2), LoadPair32: pair32Fast(loadPair32AVX2),
			LoadComplex: loadFast(loadComplexAVX2), StoreComplex: storeFast(storeComplexAVX2),
			SetPower: powerFast(setPowerAVX2), AddPower: powerFast(addPowerAVX2), Sum: sumFastAVX2, Sum32: sum32FastAVX2,
		})
	}
	return sets
}

// The wrappers check shapes, which the assembly does not.

func stage(r int, f func(y, x, tw *float64, q, s int)) func(y, x, tw []float64, q, s int) {
	return func(y, x, tw []float64, q, s int) {
		checkRadix(len(y), len(x), len(tw), r, q, s)
		f(&y[0], &x[0], &tw[0], q, s)
	}
}

func lastStage(r int, f func(y, x *float64, s int)) func(y, x []float64, s int) {
	return func(y, x []float64, s int) {
		need(s > 0 && len(y) >= r*s*Vec && len(x) >= r*s*Vec)
		f(&y[0], &x[0], s)
	}
}

func stages(a, b int, f func(y, x, tw, tmp *float64, q, s int)) func(y, x, tw, tmp []float64, q, s int) {
	return func(y, x, tw, tmp []float64, q, s int) {
		checkStages(len(y), len(x), len(tw), len(tmp), a, b, q, s)
		f(&y[0], &x[0], &tw[0], &tmp[0], q, s)
	}
}

func lastStages(a, b int, f func(y, x, tw, tmp *float64, s int)) func(y, x, tw, tmp []float64, s int) {
	return func(y, x, tw, tmp []float64, s int) {
		checkLastStages(len(y), len(x), len(tw), len(tmp), a, b, s)
		f(&y[0], &x[0], &tw[0], &tmp[0], s)
	}
}

func twistFast(f func(y, x, near, far *float64, stride, groups int)) func(y, x, near, far []float64, stride,
	groups int) {
	return func(y, x, near, far []float64, stride, groups int) {
		checkTwist(len(y), len(x), len(near), len(far), stride, groups)
		f(&y[0], &x[0], &near[0], &far[0], stride, groups)
	}
}

func pairFast(f func(dst, a, b, row, lane *float64, meanA, meanB float64, stride, rows, jump, groups int)) func(dst, a,
	b, row, lane []float64, meanA, meanB float64, stride, rows, jump, groups int) {
	return func(dst, a, b, row, lane []float64, meanA, meanB float64, stride, rows, jump, groups int) {
		checkPair(len(dst), len(a), len(b), len(row), len(lane), stride, rows, jump, groups)
		f(&dst[0], &a[0], &b[0], &row[0], &lane[0], meanA, meanB, stride, rows, jump, groups)
	}
}

func pair32Fast(f func(dst *float64, a, b *float32, row, lane *float64, meanA, meanB float64, stride, rows, jump,
	groups int)) func(dst []float64, a, b []float32, row, lane []float64, meanA, meanB float64, stride, rows, jump,
	groups int) {
	return func(dst []float64, a, b []float32, row, lane []float64, meanA, meanB float64, stride, rows, jump, groups int) {
		checkPair(len(dst), len(a), len(b), len(row), len(lane), stride, rows, jump, groups)
		f(&dst[0], &a[0], &b[0], &row[0], &lane[0], meanA, meanB, stride, rows, jump, groups)
	}
}

func loadFast(f func(dst, src *float64, stride, rows, jump, groups int)) func(dst, src []float64, stride, rows, jump,
	groups int) {
	return func(dst, src []float64, stride, rows, jump, groups int) {
		checkLoad(len(dst), len(src), stride, rows, jump, groups)
		f(&dst[0], &src[0], stride, rows, jump, groups)
	}
}

func storeFast(f func(dst, src *float64, stride, rows int)) func(dst, src []float64, stride, rows int) {
	return func(dst, src []float64, stride, rows int) {
		checkComplex(len(src), len(dst), stride, rows)
		f(&dst[0], &src[0], stride, rows)
	}
}

func powerFast(f func(sum, x *float64, stride, rows int)) func(sum, x []float64, stride, rows int) {
	return func(sum, x []float64, stride, rows int) {
		checkPower(len(sum), len(x), stride, rows)
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
