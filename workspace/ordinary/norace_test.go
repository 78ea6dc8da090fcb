//go:build !race

package ordinary_test

// detector is how to build with the race detector, when it is on here.
var detector []string
