package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sent says that a request is on its way: what commands have changed is looked
// at beside it.
func (s *Snapshots) Sent() {
	if !s.dirty.Load() {
		return
	}
	s.beside(snapPause, func(ctx context.Context) {
		if s.running == 0 && s.dirty.Load() && s.look(ctx, byTool, s.sealed, statOnly) == nil {
			s.dirty.Store(false)
		}
	})
}

// Coming says that a reply with a call in it is coming in: what somebody else
// has changed meanwhile is looked at beside it.
func (s *Snapshots) Coming(n int64) {
	if s.dirty.Load() {
		return
	}
	s.beside(snapPause, func(ctx context.Context) {
		if s.sealed == n && s.based && s.running == 0 && !s.dirty.Load() {
			by, at := s.whose(n)
			s.look(ctx, by, at, keepNew)
		}
	})
}

// Rest says that the turn is over: the files as they are now are kept beside
// what follows.
func (s *Snapshots) Rest() {
	s.beside(0, func(ctx context.Context) { s.settle(ctx) })
}

// Late says that a command in the background has ended. What has changed can
// be its doing, or somebody else's.
func (s *Snapshots) Late() {
	s.late.Store(true)
	s.beside(0, func(ctx context.Context) {
		if s.based && !s.dirty.Load() && s.look(ctx, byUnknown, s.sealed, keepNew) == nil {
			s.late.Store(false)
		}
	})
}

// beside does something a moment later, unless something else comes up.
func (s *Snapshots) beside(pause time.Duration, do func(ctx context.Context)) {
	s.stop()
	ctx, cancel := context.WithCancel(context.Background())
	s.idle.Lock()
	s.cancel = cancel
	s.idle.Unlock()
	s.waiting.Go(func() {
		defer cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		s.mu.Lock()
		defer s.tell()
		defer s.mu.Unlock()
		if s.store == nil || s.failed != nil || ctx.Err() != nil {
			return
		}
		do(ctx)
		s.release()
		s.keep()
	})
}

// settle looks at what the turn has left, and keeps it.
func (s *Snapshots) settle(ctx context.Context) error {
	if s.running > 0 {
		return nil
	}
	s.touched = nil
	if s.based && (s.dirty.Load() || s.open || s.late.Load()) {
		by := byUser
		switch {
		case s.dirty.Load():
			by = byTool
		case s.late.Load():
			by = byUnknown
		}
		if err := s.look(ctx, by, s.sealed, keepNew); err != nil {
			return err
		}
		s.dirty.Store(false)
		s.late.Store(false)
		s.open = false
		s.store.add(line{Kind: "shut"})
		return nil
	}
	for key, t := range s.known {
		if t.unread {
			if st, err := s.lstat(key); err == nil {
				s.compare(key, t, st, byTool, t.n, true)
			}
		}
	}
	return nil
}

// Close keeps what the last turn has left and ends the use.
func (s *Snapshots) Close() error {
	s.stop()
	s.waiting.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	if s.failed == nil {
		s.settle(context.Background())
	}
	err := s.store.close()
	s.store, s.failed = nil, errors.New("the snapshots are closed")
	s.told = true
	if err != nil {
		return fmt.Errorf("keep what files were: %w", plainly(err))
	}
	return nil
}
