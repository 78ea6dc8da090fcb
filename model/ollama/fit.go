package ollama

import (
	"fmt"

	"oneloop"
)

// fit compares a request with the room that there is for it. A server counts
// the tokens of a prompt as it used it: one that cut the prompt counts what was
// left. The number of bytes tells that it was cut.
type fit struct {
	size
	window int   // tokens that fit
	limit  int64 // tokens of the reply that were asked for at most; 0: as many as fit
	before size  // the request that was counted last; prompt is 0 where none was
}

// size is how large a request is.
type size struct {
	bytes  int64 // without its images
	images int   //
	prompt int64 // tokens as the server counted them; 0: not yet
}

const (
	// likely is how many bytes a token has where it was not counted: many, so
	// that nothing is refused that may fit.
	likely = 4.0
	// most is how many bytes a token can have: a prompt with fewer tokens than
	// that was cut, or its beginning, held from the request before, was not
	// counted, as old servers do.
	most = 8.0
	// imageTokens is about what an image takes.
	imageTokens = 768
	// sure is how small a part of the tokens there have to be, at most, of those
	// there should be: the count of bytes is no exact one.
	sure = 0.7
)

// estimate is about how many tokens the prompt has, rather too few than too
// many. Of what was counted before, only what came since has to be guessed.
func (f *fit) estimate() float64 {
	last := f.before
	if last.prompt > 0 && f.bytes >= last.bytes && f.images >= last.images {
		return float64(last.prompt) + float64(f.bytes-last.bytes)/likely + float64((f.images-last.images)*imageTokens)
	}
	return float64(f.bytes)/max(last.rate(), likely) + float64(f.images*imageTokens)
}

// check refuses a request that cannot fit.
func (f *fit) check() error {
	if n := f.estimate(); f.window > 0 && n > float64(f.window) {
		return fmt.Errorf("the conversation has about %.0f tokens and the model has room for %d; it was not sent, because the server would cut off its beginning", n, f.window)
	}
	return nil
}

// cut reports whether the count of the prompt shows that its beginning was cut
// off.
func (f *fit) cut() bool {
	p := float64(f.prompt)
	switch {
	case f.prompt <= 0 || f.window <= 0:
		return false
	case p >= float64(f.window-1):
		return true
	case f.before.prompt > 0:
		return f.estimate() > sure*float64(f.window) && p < sure*f.estimate()
	}
	return float64(f.bytes) > 1.5*float64(f.window) && float64(f.bytes)/p > most
}

// counted reports whether the server counted the whole prompt.
func (s size) counted() bool { return s.prompt > 0 && float64(s.bytes)/float64(s.prompt) <= most }

// rate is how many bytes a token has by this count; 0: it says nothing.
func (s size) rate() float64 {
	const few = 100 // tokens; what a template adds counts too much in them
	text := s.prompt - int64(s.images*imageTokens)
	if text < few || !s.counted() {
		return 0
	}
	return float64(s.bytes) / float64(text)
}

// usage is what a reply used. The prompt that was not counted whole is not
// reported: what was held from the request before is missing.
func (f *fit) usage(output int64) oneloop.Usage {
	if !f.counted() {
		return oneloop.Usage{}
	}
	return oneloop.Usage{Reported: true, Input: f.prompt, Output: output}
}
