package oneloop

import "context"

// Run takes one turn. It asks the model, runs the tools the model asked for,
// and goes round again for as long as the model stops to use tools.
//
// Nothing else belongs here. A new mechanism wraps m, wraps tools, decorates
// t, or listens to emit.
//
// emit may be nil when nobody listens, if m and tools take that; those of this
// module do (see [Sink]).
//
// Run returns nil when the turn is over, also when the model refused, was cut
// or was interrupted: the last message in t tells. It returns the error of t
// or m otherwise. What was appended before an error stays appended.
func Run(ctx context.Context, m Model, tools Tools, t Transcript, emit func(Event)) error {
	for {
		req, err := t.Request(ctx)
		if err != nil {
			return err
		}
		msg, err := m.Generate(ctx, req, emit)
		if err != nil {
			return err
		}
		if err := t.Append(context.WithoutCancel(ctx), msg); err != nil {
			return err
		}
		if msg.Stop != StopToolUse {
			return nil
		}
		results := tools.Run(ctx, msg.ToolUses(), emit)
		if err := t.Append(context.WithoutCancel(ctx), results); err != nil {
			return err
		}
		if results.Stop == StopEndTurn {
			return nil
		}
	}
}
