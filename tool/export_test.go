package tool

// BashInput is the input of Bash.
type BashInput = bashInput
