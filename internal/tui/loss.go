package tui

import (
	"fmt"
	"strings"
)

// Loss is a reason why a file does not come back, in the language of x.
func (x *Text) Loss(why string) string {
	var text strings.Builder
	for i := 0; i < len(english.Losses); i++ {
		if rest, ok := strings.CutPrefix(why, english.Losses[i]); ok {
			text.WriteString(x.Losses[i])
			why, i = rest, -1 // what follows can be one too
		}
		if why == "" {
			break
		}
	}
	return text.String() + why
}

// Restored is a number of files that are as they were.
func (x *Text) Restored(n int) string { return x.RewindDone.of(n) }

// few is how many names a line has before the rest is a number.
const few = 12

// Names are names for people, a few of them by name.
func (x *Text) Names(names []string) string {
	shown := make([]string, 0, few)
	for _, n := range names[:min(len(names), few)] {
		shown = append(shown, visible(n, exactSight))
	}
	text := strings.Join(shown, x.Comma)
	if more := len(names) - len(shown); more > 0 {
		return fmt.Sprintf(x.RewindMore, text, more)
	}
	return text
}
