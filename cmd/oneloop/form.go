package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"oneloop"
	"oneloop/tool"
)

// inForm reads the form that --json-schema asks for, which may stand there
// itself.
func (p *program) inForm() error {
	schema, from := p.opts.schema, "--json-schema"
	if schema == "" {
		return nil
	}
	if !strings.HasPrefix(strings.TrimSpace(schema), "{") {
		from = schema
		data, err := os.ReadFile(from)
		if err != nil {
			return usagef(p.words.BadFile, from, plain(err))
		}
		schema = string(data)
	}
	form, err := tool.NewAnswer([]byte(schema))
	if err != nil {
		return usagef(p.words.BadFile, from, err)
	}
	p.form = form
	return nil
}

// atStop is what a session asks when its model stops.
type atStop = func(context.Context, *oneloop.Message) ([]oneloop.Block, error)

// asking has a model that stops without the answer that is wanted asked for it,
// before hooks are.
func (p *program) asking(hooks atStop) atStop {
	if p.form == nil {
		return hooks
	}
	return func(ctx context.Context, last *oneloop.Message) ([]oneloop.Block, error) {
		if more, err := p.form.AtStop(ctx, last); err != nil || len(more) > 0 {
			return more, err
		}
		return hooks(ctx, last)
	}
}

// formed is the answer of a task: of the form that was asked for, or none and
// why.
func (p *program) formed(text string, err error) (string, error) {
	if p.form == nil || err != nil {
		return text, err
	}
	value, err := p.form.JSON()
	if err != nil {
		return "", fmt.Errorf("--json-schema: %w", err)
	}
	return string(value), nil
}
