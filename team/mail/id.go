package mail

import (
	"math/rand/v2"
	"time"
)

// An id is a time in milliseconds and a number by chance, in digits that sort as
// the numbers do. Ids of one mailbox grow; those of two differ by their chance.
const (
	idDigits = "0123456789abcdefghjkmnpqrstvwxyz"
	idTime   = 9 // digits of five bits: until the year 3084
	idChance = 5
	idLength = idTime + idChance
)

// NewID returns an id that is larger than last, which may be empty.
func NewID(last string, now time.Time) string {
	var b [idLength]byte
	put(b[:idTime], uint64(max(now.UnixMilli(), 0)))
	if len(last) == idLength && string(b[:idTime]) <= last[:idTime] {
		// The same moment, or the clock was set back.
		copy(b[:], last)
		for i := idLength - 1; i >= 0; i-- {
			if d := digit(b[i]); d < 31 {
				b[i] = idDigits[d+1]
				break
			}
			b[i] = idDigits[0]
		}
		return string(b[:])
	}
	put(b[idTime:], rand.Uint64())
	b[idTime] = idDigits[digit(b[idTime])/2] // so that there are many above it
	return string(b[:])
}

// put writes the lowest bits of n.
func put(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = idDigits[n&31]
		n >>= 5
	}
}

// digit is the value of a digit; what is none counts as the first one.
func digit(c byte) int {
	for i := range len(idDigits) {
		if idDigits[i] == c {
			return i
		}
	}
	return 0
}
