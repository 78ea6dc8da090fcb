package workspace

// Reap does until stop is closed what is done every now and then while a
// command runs.
func Reap(stop <-chan struct{}) {
	t := newTree()
	running.Lock()
	t.pid = -1 // of no process
	running.Unlock()
	defer t.forget()
	for {
		select {
		case <-stop:
			return
		default:
			t.reap()
		}
	}
}

// NameTemp has new files named by name, and from the start if alwaysNamed, as
// where the file system cannot do without. It gives the way back.
func NameTemp(name func() string, alwaysNamed bool) func() {
	flag, names := withoutName, tempName
	if alwaysNamed {
		withoutName = 0
	}
	if name != nil {
		tempName = name
	}
	return func() { withoutName, tempName = flag, names }
}

// ConfinedEnv is what commands in a sandbox get of an environment.
func ConfinedEnv(env, keep []string) []string { return confinedEnv(env, keep, "/cache") }

var NamedPaths = namedPaths
