package workspace

import "context"

type withheldKey struct{}

// Withhold gives a context in which tools that look through many files leave
// out those for which a function is true. It is given absolute paths without
// links, from several goroutines at a time.
func Withhold(ctx context.Context, file func(path string) bool) context.Context {
	return context.WithValue(ctx, withheldKey{}, file)
}

// Withheld is the function that [Withhold] was given; nil: nothing is left
// out.
func Withheld(ctx context.Context) func(path string) bool {
	file, _ := ctx.Value(withheldKey{}).(func(string) bool)
	return file
}
