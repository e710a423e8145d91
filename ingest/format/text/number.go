package text

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"unsafe"
)

// pow10 holds the powers of ten that a float64 represents exactly.
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// mostDigits is the greatest number of decimal digits whose numbers all fit into 64 bits.
const mostDigits = 19

// Scan reads a plain decimal number at b[i:] and returns its value and the index after it. dec is the decimal sign.
// Scan returns true only if it is certain of the last bit, by two ways that strconv takes too:
//
//   - Digits that make an integer below 2^53 and an exact power of ten need one multiplication or division, which
//     rounds correctly (Clinger 1990).
//   - Up to 19 digits are multiplied by 128 bits of the power. The product shows whether these bits decide the rounding
//     (Lemire 2021).
//
// Everything else is left to Number.
func Scan(b []byte, i int, dec byte) (v float64, next int, ok bool) {
	isNegative := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		isNegative = b[i] == '-'
		i++
	}

	// The number is mantissa·10^exp.
	mantissa, j := digits(b, i, 0)
	count := j - i // of digits
	exp := 0
	i = j
	if i < len(b) && b[i] == dec {
		mantissa, j = digits(b, i+1, mantissa)
		decimals := j - (i + 1)
		count += decimals
		exp = -decimals
		i = j
	}

	if count == 0 || count > mostDigits {
		return 0, i, false
	}

	if i < len(b) && b[i]|0x20 == 'e' {
		stated, end, ok := exponent(b, i+1)
		if !ok {
			return 0, i, false
		}

		exp += stated
		i = end
	}

	isExact := mantissa>>53 == 0 // as a float64
	switch {
	case isExact && exp <= 0 && exp > -len(pow10):
		v = float64(mantissa) / pow10[-exp]
	case isExact && exp > 0 && exp < len(pow10):
		v = float64(mantissa) * pow10[exp]
	case mantissa != 0:
		v, ok = lemire(mantissa, exp)
		if !ok {
			return 0, i, false
		}
	}

	if isNegative {
		v = -v
	}

	return v, i, true
}

// exponent reads an exponent of at most four digits at b[i:], behind its letter, and returns the index after it.
func exponent(b []byte, i int) (exp, next int, ok bool) {
	sign := 1
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		if b[i] == '-' {
			sign = -1
		}

		i++
	}

	value, next := digits(b, i, 0)
	if next == i || next-i > 4 {
		return 0, i, false
	}

	return sign * int(value), next, true
}

// digits appends the decimal digits at b[i:] to the digits of m, and returns the index after the last digit.
func digits(b []byte, i int, m uint64) (appended uint64, next int) {
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}

		m = m*10 + uint64(c)
	}

	return m, i
}

// maxPow is the greatest power of ten of lemire, positive or negative. Numbers with other powers are left to strconv.
const maxPow = 60

// float128 is a mantissa of 128 bits.
type float128 struct{ high, low uint64 }

// pow128 holds 10^e at index e+maxPow, e = −maxPow … maxPow, as mantissas with the first bit set, rounded down.
var pow128 = powersOfTen()

func powersOfTen() (powers [2*maxPow + 1]float128) {
	low64 := new(big.Int).SetUint64(math.MaxUint64)
	for e := -maxPow; e <= maxPow; e++ {
		p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(e, -e))), nil)
		if e < 0 { // 2^512/10^−e has more bits than are kept
			p.Quo(new(big.Int).Lsh(big.NewInt(1), 512), p)
		}

		if n := p.BitLen() - 128; n > 0 {
			p.Rsh(p, uint(n))
		} else {
			p.Lsh(p, uint(-n))
		}

		powers[e+maxPow] = float128{
			high: new(big.Int).Rsh(p, 64).Uint64(),
			low:  new(big.Int).And(p, low64).Uint64(),
		}
	}

	return powers
}

// Parts of a float64.
const (
	mantissaBits = 52   // without the leading one
	exponentBias = 1023 // is added to the exponent
	exponentMax  = 0x7FF
)

// lemire returns m·10^exp, correctly rounded, or false if 128 bits of the power do not decide the rounding. m is not 0.
// The steps and the names are the same as in eiselLemire64 of package strconv, after Lemire, Number parsing at a
// gigabyte per second, 2021: normalise m, multiply it by the upper 64 bits of the power, add the lower 64 bits if they
// may matter, shift the product to 54 bits, and round it to 53.
func lemire(m uint64, exp int) (float64, bool) {
	if exp < -maxPow || exp > maxPow {
		return 0, false
	}

	pow := &pow128[exp+maxPow]
	zeros := bits.LeadingZeros64(m)
	m <<= uint(zeros)

	// 217706/2^16 is log2(10), close enough for the whole table.
	exp2 := 217706*exp>>16 + 64 + exponentBias - zeros

	// The lower 9 bits are shifted out. If they are all ones, a carry may still change the bits above them.
	const lower = 0x1FF

	hi, lo := bits.Mul64(m, pow.high)
	if hi&lower == lower && lo+m < m {
		lowHi, lowLo := bits.Mul64(m, pow.low)
		sum, carry := bits.Add64(lo, lowHi, 0)
		top := hi + carry
		if top&lower == lower && sum+1 == 0 && lowLo+m < m {
			return 0, false
		}

		hi = top
		lo = sum
	}

	msb := hi >> 63
	mantissa := hi >> (msb + 9)
	exp2 -= int(1 ^ msb)

	if lo == 0 && hi&lower == 0 && mantissa&3 == 1 {
		return 0, false // half-way between two floats, as far as these bits show
	}

	mantissa += mantissa & 1
	mantissa >>= 1
	if mantissa>>(mantissaBits+1) > 0 {
		mantissa >>= 1
		exp2++
	}

	if exp2 < 1 || exp2 >= exponentMax {
		return 0, false
	}

	return math.Float64frombits(uint64(exp2)<<mantissaBits | mantissa&(1<<mantissaBits-1)), true
}

// Number reads a whole cell as a number, exactly as strconv.ParseFloat does. Besides, it reads numbers with the
// decimal sign dec, and Fortran's exponent letter (1.5D+03). It returns false for a number too large for a float64,
// for a hexadecimal number and for a text. "NaN" and "Inf" are numbers here.
func Number(cell []byte, dec byte) (float64, bool) {
	if len(cell) == 0 {
		return 0, false
	}

	if v, n, ok := Scan(cell, 0, dec); ok && n == len(cell) {
		return v, true
	}

	if !beginsNumber(cell[0], dec) {
		return 0, false
	}

	if bytes.ContainsAny(cell, "xX_pP") || dec != '.' && bytes.IndexByte(cell, '.') >= 0 {
		return 0, false // notations of programs, not of measurements
	}

	s := cell
	if dec != '.' || bytes.ContainsAny(s, "dD") { // otherwise it is not copied
		s = bytes.Map(func(r rune) rune {
			switch r {
			case rune(dec):
				return '.'
			case 'd', 'D':
				return 'e'
			}

			return r
		}, s)
	}

	v, err := strconv.ParseFloat(unsafe.String(&s[0], len(s)), 64)

	return v, err == nil
}

// beginsNumber reports whether a number can begin with a character: a digit, a sign, the decimal sign, or the first
// letter of NaN or Inf.
func beginsNumber(c, dec byte) bool {
	switch c {
	case '+', '-', dec, 'n', 'N', 'i', 'I':
		return true
	}

	return c >= '0' && c <= '9'
}

// Fortran reads a cell as Number does, and also exponents of three digits as Fortran writes them: 1.0-101.
func Fortran(b []byte, dec byte) (float64, bool) {
	v, ok := Number(b, dec)
	if ok {
		return v, true
	}

	if i := bytes.LastIndexAny(b, "+-"); i > 0 && b[i-1] >= '0' && b[i-1] <= '9' {
		return Number(bytes.Join([][]byte{b[:i], b[i:]}, []byte("e")), dec)
	}

	return 0, false
}

// mostTyped is the number of bytes of a cell that Typed looks at: longer cells are texts.
const mostTyped = 64

// Typed reads a cell as people and spreadsheets write it: as Number does, and also with a typographic minus and with
// marks between thousands: 1'234, 1 234, and 1.234,5 or 1,234.5, whichever sign is not the decimal one. doubtful
// reports whether the only mark may be a decimal sign as well: 1.234 beside decimal commas.
func Typed(cell []byte, dec byte) (v float64, doubtful, ok bool) {
	v, ok = Number(cell, dec)
	if ok {
		return v, false, true
	}

	n := len(cell)
	if n < 2 || n > mostTyped || cell[n-1]-'0' > 9 { // most texts, before anything is copied
		return 0, false, false
	}

	other := ","
	if dec == ',' {
		other = "."
	}

	s := strings.Replace(string(cell), "−", "-", 1)
	whole, decimals, hasDecimals := strings.Cut(s, string(dec))
	unsigned := strings.TrimLeft(whole, "+-")
	sign := whole[:len(whole)-len(unsigned)]

	for _, mark := range []string{other, "'", "’", " ", "\u00a0", "\u202f"} {
		if !strings.Contains(unsigned, mark) {
			continue
		}

		groups, areGroups := thousands(unsigned, mark)
		if !areGroups {
			return 0, false, false
		}

		unsigned = strings.ReplaceAll(unsigned, mark, "")
		doubtful = mark == other && groups == 2 && !hasDecimals

		break
	}

	number := sign + unsigned
	if hasDecimals {
		number += string(dec) + decimals
	}

	v, ok = Number([]byte(number), dec)

	return v, doubtful, ok
}

// thousands returns the number of groups of digits between marks of thousands, and reports whether they are such
// groups: three digits in each but the first, which has one to three and does not begin with 0. It allocates nothing,
// because a log may have millions of cells.
func thousands(number, mark string) (groups int, ok bool) {
	for group := range strings.SplitSeq(number, mark) {
		isWhole := len(group) == 3
		if groups == 0 {
			isWhole = len(group) >= 1 && len(group) <= 3 && group[0] != '0'
		}

		hasOther := strings.Trim(group, "0123456789") != ""
		if !isWhole || hasOther {
			return 0, false
		}

		groups++
	}

	return groups, true
}
