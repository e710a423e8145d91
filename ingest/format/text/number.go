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

// Scan reads a plain decimal number at b[i:] and returns its value and
// the index after it. It answers only where it is certain of the last bit, by
// two ways that strconv takes too: digits that make an integer below 2^53 and
// an exact power of ten need one multiplication or division, which rounds
// correctly (Clinger 1990); up to 19 digits are multiplied with 128 bits of the
// power (Lemire 2021), which detects when that is not enough. Everything else is
// left to Number. dec is the decimal sign.
func Scan(b []byte, i int, dec byte) (v float64, next int, ok bool) {
	neg := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}

	m, j := digits(b, i, 0)
	n, exp := j-i, 0
	if i = j; i < len(b) && b[i] == dec {
		m, j = digits(b, i+1, m)
		exp = i + 1 - j
		n -= exp
		i = j
	}

	if n == 0 || n > 19 { // more may overflow 64 bits
		return 0, i, false
	}

	if i < len(b) && b[i]|0x20 == 'e' {
		from, sign := i+1, 1
		if from < len(b) && (b[from] == '-' || b[from] == '+') {
			if b[from] == '-' {
				sign = -1
			}

			from++
		}

		e, end := digits(b, from, 0)
		if end == from || end-from > 4 {
			return 0, i, false
		}

		exp += sign * int(e)
		i = end
	}

	switch {
	case m>>53 == 0 && exp <= 0 && exp >= -22:
		v = float64(m) / pow10[-exp]
	case m>>53 == 0 && exp > 0 && exp <= 22:
		v = float64(m) * pow10[exp]
	case m != 0:
		if v, ok = lemire(m, exp); !ok {
			return 0, i, false
		}
	}

	if neg {
		v = -v
	}

	return v, i, true
}

// digits reads on at b[i:], behind the digits of m, and returns the index after the last.
func digits(b []byte, i int, m uint64) (uint64, int) {
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}

		m = m*10 + uint64(c)
	}

	return m, i
}

// maxPow bounds the powers of ten of lemire; beyond it strconv does the work.
const maxPow = 60

// pow128 holds 10^e, e = −maxPow … maxPow, as the upper and lower half of a
// mantissa of 128 bits with the first bit set, rounded down.
var pow128 = func() (t [2*maxPow + 1][2]uint64) {
	low := new(big.Int).SetUint64(math.MaxUint64)
	for e := -maxPow; e <= maxPow; e++ {
		p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(e, -e))), nil)
		if e < 0 { // 2^n/10^−e with more bits than are kept
			p.Quo(new(big.Int).Lsh(big.NewInt(1), 512), p)
		}

		if n := p.BitLen() - 128; n > 0 {
			p.Rsh(p, uint(n))
		} else {
			p.Lsh(p, uint(-n))
		}

		t[e+maxPow] = [2]uint64{new(big.Int).Rsh(p, 64).Uint64(), new(big.Int).And(p, low).Uint64()}
	}

	return t
}()

// lemire returns m·10^exp, correctly rounded, or false when 128 bits of the
// power do not decide the rounding (Lemire, Number parsing at a gigabyte per
// second, 2021; m > 0).
func lemire(m uint64, exp int) (float64, bool) {
	if exp < -maxPow || exp > maxPow {
		return 0, false
	}

	pow := &pow128[exp+maxPow]
	zeros := bits.LeadingZeros64(m)
	m <<= uint(zeros)

	// 217706/2^16 is log2(10), close enough for the whole table.
	e2 := 217706*exp>>16 + 64 + 1023 - zeros

	hi, lo := bits.Mul64(m, pow[0])
	if hi&0x1FF == 0x1FF && lo+m < m {
		yHi, yLo := bits.Mul64(m, pow[1])
		sum, carry := bits.Add64(lo, yHi, 0)
		top := hi + carry
		if top&0x1FF == 0x1FF && sum+1 == 0 && yLo+m < m {
			return 0, false
		}

		hi, lo = top, sum
	}

	msb := hi >> 63
	man := hi >> (msb + 9)
	e2 -= int(1 ^ msb)

	if lo == 0 && hi&0x1FF == 0 && man&3 == 1 {
		return 0, false // half-way between two floats, as far as can be seen
	}

	man += man & 1
	man >>= 1
	if man>>53 > 0 {
		man >>= 1
		e2++
	}

	if e2 < 1 || e2 >= 0x7FF {
		return 0, false
	}

	return math.Float64frombits(uint64(e2)<<52 | man&(1<<52-1)), true
}

// Number reads a whole cell as a number, to the last bit as
// strconv.ParseFloat does. Beyond it, it takes the decimal sign dec and
// Fortran's exponent letter (1.5D+03). A number too large for a float64, a
// hexadecimal one and a text are refused; "NaN" and "Inf" are numbers here.
func Number(cell []byte, dec byte) (float64, bool) {
	if len(cell) == 0 {
		return 0, false
	}

	if v, n, ok := Scan(cell, 0, dec); ok && n == len(cell) {
		return v, true
	}

	switch c := cell[0]; {
	case c >= '0' && c <= '9', c == '+', c == '-', c == dec, c|0x20 == 'n', c|0x20 == 'i':
	default:
		return 0, false
	}

	if bytes.ContainsAny(cell, "xX_pP") || dec != '.' && bytes.IndexByte(cell, '.') >= 0 {
		return 0, false // notations of programs, not of measurements
	}

	s := cell
	if dec != '.' || bytes.ContainsAny(s, "dD") { // else it is not copied
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

// Fortran is Number that reads an exponent of three digits as Fortran writes it, too: 1.0-101.
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

// Typed reads a cell as people and spreadsheets write it: as Number, with a typographic minus and
// marks between thousands (1'234, 1 234, and 1.234,5 or 1,234.5, whichever sign is not the decimal
// one). doubtful: one mark alone, 1.234, which may be a decimal sign as well.
func Typed(cell []byte, dec byte) (v float64, doubtful, ok bool) {
	if v, ok = Number(cell, dec); ok {
		return v, false, true
	}

	if n := len(cell); n < 2 || n > 64 || cell[n-1]-'0' > 9 { // most text, before anything is copied
		return 0, false, false
	}

	other := ","
	if dec == ',' {
		other = "."
	}

	s := strings.Replace(string(cell), "−", "-", 1)
	whole, part, hasPart := strings.Cut(s, string(dec))
	sign := whole[:len(whole)-len(strings.TrimLeft(whole, "+-"))]

	for _, mark := range []string{other, "'", "’", " ", "\u00a0", "\u202f"} {
		if !strings.Contains(whole, mark) {
			continue
		}

		i := 0
		for g := range strings.SplitSeq(whole[len(sign):], mark) {
			if len(g) != 3 && (i > 0 || len(g) < 1 || len(g) > 2) || i == 0 && g[0] == '0' ||
				strings.Trim(g, "0123456789") != "" {
				return 0, false, false
			}

			i++
		}

		whole = sign + strings.ReplaceAll(whole[len(sign):], mark, "")
		doubtful = mark == other && i == 2 && !hasPart

		break
	}

	if hasPart {
		whole += string(dec) + part
	}

	v, ok = Number([]byte(whole), dec)

	return v, doubtful, ok
}
