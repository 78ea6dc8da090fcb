package config

import (
	"oneloop/policy"
)

// hooks reads the hooks of the user's settings, and then those of the folder.
func (l *loader) hooks() error {
	if err := l.hooksOf(l.own, policy.HookSource{Own: true}); err != nil {
		return err
	}
	for _, f := range l.project {
		if len(f.hooks) > 0 && l.out.Trusted.Ignores(policy.Scripts) {
			l.notice("the hooks in %s are not run, because the scripts beside it are not trusted.", f.path)
			continue
		}
		if err := l.hooksOf(f, policy.HookSource{}); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) hooksOf(f *file, from policy.HookSource) error {
	if f == nil || len(f.hooks) == 0 {
		return nil
	}
	from.File = f.path
	list, notices, err := policy.ParseHooks(f.hooks, from)
	if err != nil {
		return misconfigured(err, "%s: %v; correct it or take it out.", f.path, err)
	}
	for _, n := range notices {
		l.notice("%s: %s.", f.path, n)
	}
	l.out.Hooks = append(l.out.Hooks, list...)
	return nil
}
