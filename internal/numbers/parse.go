package numbers

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Bounds of the numbers that Parse reads.
const (
	maxText  = 1000 // bytes
	maxPower = 1000 // of ten, either way
)

// Parse returns the number that a JSON number writes, exactly. Texts of more than 1000 bytes, and exponents beyond ±1000, are errors.
func Parse(text string) (*big.Rat, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("reading a number of %d bytes: want at most %d", len(text), maxText)
	}
	rest := strings.TrimPrefix(text, "-")
	whole := leading(rest)
	ok := whole == 1 || whole > 1 && rest[0] != '0'
	if rest = rest[whole:]; ok && strings.HasPrefix(rest, ".") {
		n := leading(rest[1:])
		ok, rest = n > 0, rest[1+n:]
	}
	if ok && rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		digits := rest[1:]
		if strings.HasPrefix(digits, "+") || strings.HasPrefix(digits, "-") {
			digits = digits[1:]
		}
		n := leading(digits)
		if ok, rest = n > 0, digits[n:]; ok {
			if power, err := strconv.Atoi(digits[:n]); err != nil || power > maxPower {
				return nil, fmt.Errorf("reading the number %.50s: want an exponent of at most %d", text, maxPower)
			}
		}
	}
	v, read := new(big.Rat), false
	if ok && rest == "" {
		v, read = v.SetString(text)
	}
	if !read {
		return nil, fmt.Errorf("%.50q is no JSON number", text)
	}
	return v, nil
}

// leading returns how many digits s begins with.
func leading(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
