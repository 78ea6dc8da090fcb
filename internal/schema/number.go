package schema

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strings"
)

// number is a JSON number as it is written, however large: 0.digits times ten to
// the power of exp, digits without zeros at either end.
type number struct {
	minus  bool
	digits string // empty: 0
	exp    *big.Int
}

func parseNumber(n json.Number) number {
	text := strings.ToLower(string(n))
	d := number{exp: new(big.Int)}
	text, d.minus = strings.CutPrefix(text, "-")
	mantissa, power, _ := strings.Cut(text, "e")
	if power != "" {
		d.exp.SetString(strings.TrimPrefix(power, "+"), 10)
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	digits := whole + part
	before := len(whole)
	trimmed := strings.TrimLeft(digits, "0")
	before -= len(digits) - len(trimmed)
	if d.digits = strings.TrimRight(trimmed, "0"); d.digits == "" {
		return number{exp: new(big.Int)}
	}
	d.exp.Add(d.exp, big.NewInt(int64(before)))
	return d
}

func (d number) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.minus:
		return -1
	}
	return 1
}

// compare is -1, 0 or 1 as d is less than, equal to or more than e.
func (d number) compare(e number) int {
	if c := cmp.Compare(d.sign(), e.sign()); c != 0 || d.digits == "" {
		return c
	}
	c := d.exp.Cmp(e.exp)
	if c == 0 {
		c = strings.Compare(d.digits, e.digits)
	}
	return c * d.sign()
}

// whole reports whether d is an integer.
func (d number) whole() bool { return d.power().Sign() >= 0 }

// power is that of ten by which the digits, as an integer, are multiplied.
func (d number) power() *big.Int {
	return new(big.Int).Sub(d.exp, big.NewInt(int64(len(d.digits))))
}

// multipleOf reports whether d is e, which is more than 0, times an integer.
func (d number) multipleOf(e number) bool {
	if d.digits == "" {
		return true
	}
	a, _ := new(big.Int).SetString(d.digits, 10)
	b, _ := new(big.Int).SetString(e.digits, 10)
	power := new(big.Int).Sub(d.power(), e.power())
	if power.Sign() < 0 {
		return false // a does not end in a zero
	}
	a.Mul(a, new(big.Int).Exp(big.NewInt(10), power, b))
	return a.Mod(a, b).Sign() == 0
}
