package train

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// cubature returns the rule by which Estimate integrates the second answers of models with two outcomes or
// more: its name, P points of the standard normal distribution (row-major P×outcomes), and their weights, which
// sum to 1. It panics with fewer outcomes.
//
// With up to four outcomes the rule is the tensor product of Gauss–Hermite points (tensorOrder). With more, it is
// 1024 (five outcomes) or 2048 Halton points, in pairs of opposite points with unit covariance. With more
// than maxHalton outcomes, fixed random points take the place of Halton points.
func cubature(outcomes int) (method string, points []float32, weights []float64) {
	if outcomes < 2 {
		panic(fmt.Sprintf("train: a cubature of %d outcomes", outcomes))
	}

	pairs := 1024
	switch {
	case outcomes <= 4:
		order := tensorOrder(outcomes)
		points, weights = tensor(outcomes, order)
		return "tensor-" + strconv.Itoa(order), points, weights

	case outcomes <= maxHalton:
		if outcomes == 5 {
			pairs = 512
		}

		points, weights = pairSet(haltonNormal(outcomes, pairs), outcomes)

		return "halton-" + strconv.Itoa(2*pairs), points, weights
	}

	points, weights = pairSet(normalPoints(outcomes, pairs), outcomes)

	return "sampled-" + strconv.Itoa(2*pairs), points, weights
}

// tensorOrder returns the number of Gauss–Hermite points per dimension for d = 2, 3 or 4 outcomes. With it the
// error of C is less than 1 % of σ². With 5 outcomes, a tensor would need too many points. The error depends on the
// number of points along a direction, as a kink of the second answer may lie across that direction; the q^d points
// altogether do not help.
//
// The table has the worst error and the rms error in % of σ² (docs/method.md#how-c-is-integrated), relative to
// 400 000 Halton points. The networks were trained on the drone's levels and on couples of other data, with 370 to
// 1400 values of C each.
//
//	outcomes  3 points    this rule           5 points    halton-1024
//	2         9.7, 1.06   0.83, 0.09 (15)     2.8, 0.45   0.45, 0.09
//	3         2.7, 0.60   0.73, 0.14 (7)      1.5, 0.23   0.41, 0.09
//	4         2.3, 0.43   0.86, 0.16 (5)      0.86, 0.16  0.75, 0.13
//	5         2.8, 0.36   0.84, 0.15 (Halton) 1.5, 0.14   0.84, 0.15
func tensorOrder(d int) int { return [...]int{2: 15, 3: 7, 4: 5}[d] }

// tensor returns the points and weights of the q-point Gauss–Hermite rule for N(0,1) in each of d dimensions.
func tensor(d, q int) (nodes []float32, weights []float64) {
	x, w := gaussHermite(q)

	n := 1
	for range d {
		n *= q
	}

	for i := range n {
		weight := 1.0
		digits := i // in base q they number the points of the dimensions
		for range d {
			nodes = append(nodes, float32(x[digits%q]))
			weight *= w[digits%q]
			digits /= q
		}

		weights = append(weights, weight)
	}

	return nodes, weights
}

// hermite returns h_n(t), an orthonormal Hermite polynomial, and the sum of h_k(t)² for k < n.
func hermite(n int, t float64) (last, sum float64) {
	previous := 0.0

	last = 1
	for k := range n {
		sum += float64(last * last)
		next := (float64(t*last) - float64(math.Sqrt(float64(k))*previous)) / math.Sqrt(float64(k+1))
		previous = last
		last = next
	}

	return last, sum
}

// gaussHermite returns the n nodes and weights of the Gauss–Hermite rule for the standard normal density. The nodes
// are ascending and exactly symmetric. They are the roots of He_n, found by bisection between the roots of
// He_{n−1}. The weight of a node is 1/Σ h_k² over k < n, with the orthonormal polynomials h_k.
func gaussHermite(n int) (x, w []float64) {
	roots := []float64{}
	for m := 1; m <= n; m++ {
		edge := 2*math.Sqrt(float64(m)) + 1 // beyond all roots of He_m
		bounds := slices.Concat([]float64{-edge}, roots, []float64{edge})

		next := make([]float64, m)
		for i := range next {
			next[i] = hermiteRoot(m, bounds[i], bounds[i+1])
		}

		for i := range m / 2 { // rounding must not break the symmetry
			next[i] = -next[m-1-i]
		}

		if m%2 == 1 {
			next[m/2] = 0
		}

		roots = next
	}

	for _, t := range roots {
		_, sum := hermite(n, t)
		w = append(w, 1/sum)
	}

	return roots, w
}

// hermiteRoot returns the root of He_m between a and b by bisection, to the last bit.
func hermiteRoot(m int, a, b float64) float64 {
	atA, _ := hermite(m, a)
	for {
		mid := 0.5 * (a + b)
		if mid <= a || mid >= b { // a and b are neighbouring numbers
			return mid
		}

		if atMid, _ := hermite(m, mid); atMid*atA > 0 {
			a = mid
		} else {
			b = mid
		}
	}
}

// maxHalton is the greatest number of outcomes with Halton points. In later dimensions, whose primes are larger,
// more of the first points lie on lines.
const maxHalton = 20

// haltonNormal returns the first points of the Halton sequence with reversed digits (Vandewoestyne & Cools
// 2006), mapped to normal numbers: one row of d numbers for each of the pairs.
func haltonNormal(d, pairs int) []float64 {
	x := make([]float64, pairs*d)

	prime := 1
	for j := range d {
		prime = nextPrime(prime)
		for i := range pairs {
			place := 1.0 // value of the digit's place after the point
			u := 0.0
			for k := i + 1; k > 0; k /= prime {
				place /= float64(prime)

				digit := k % prime
				if digit > 0 {
					digit = prime - digit
				}

				u += float64(place * float64(digit))
			}

			x[i*d+j] = normQuantile(u)
		}
	}

	return x
}

// normalPoints returns independent normal numbers, one row of d numbers for each of the pairs. They are the same in
// every call.
func normalPoints(d, pairs int) []float64 {
	p := newStream(0, streamNodes)
	var list []float64
	for range pairs * d {
		list = append(list, normQuantile(uniform(p)))
	}

	return list
}

// pairSet returns the points x (rows of d numbers) and their negatives, so that the mean of the set is exactly 0,
// with equal weights. Before that it changes x by a linear map that makes the covariance the identity. Then the part
// of a second answer that is linear in ε, usually the larger part, is integrated exactly. Without it the errors of C
// are two to five times as large. If there are fewer than 8 points per dimension, the covariance would be arbitrary,
// and pairSet leaves x unchanged.
func pairSet(x []float64, d int) (nodes []float32, weights []float64) {
	n := len(x) / d
	if d < n/8 {
		whiten(x, d)
	}

	nodes = make([]float32, 2*n*d)
	for k, v := range x {
		nodes[k] = float32(v)
		nodes[n*d+k] = -float32(v)
	}

	return nodes, slices.Repeat([]float64{1 / float64(2*n)}, 2*n)
}

// cholesky replaces the lower triangle of l, a symmetric d×d matrix, by its Cholesky factor, in place.
func cholesky(l []float64, d int) {
	for a := range d {
		for b := range a + 1 {
			s := l[a*d+b]
			for k := range b {
				s -= float64(l[a*d+k] * l[b*d+k])
			}

			if a == b {
				l[a*d+a] = math.Sqrt(s)
			} else {
				l[a*d+b] = s / l[b*d+b]
			}
		}
	}
}

// whiten replaces each row r of x (d numbers) by L⁻¹r, in place. L is the Cholesky factor of the mean of r·rᵀ
// over all rows.
func whiten(x []float64, d int) {
	n := len(x) / d

	l := make([]float64, d*d)
	for i := range n {
		r := x[i*d : (i+1)*d]
		for a := range d {
			for b := range a + 1 {
				l[a*d+b] += float64(r[a]*r[b]) / float64(n)
			}
		}
	}

	cholesky(l, d)

	for i := range n {
		r := x[i*d : (i+1)*d]
		for a := range d {
			for k := range a {
				r[a] -= float64(l[a*d+k] * r[k])
			}
			r[a] /= l[a*d+a]
		}
	}
}

// nextPrime returns the least prime above n.
func nextPrime(n int) int {
	for n++; ; n++ {
		isPrime := n > 1
		for factor := 2; factor*factor <= n && isPrime; factor++ {
			isPrime = n%factor != 0
		}

		if isPrime {
			return n
		}
	}
}
