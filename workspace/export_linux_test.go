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
