// Package archtest holds the test that says which package may import which.
package archtest
