package alive

// HoldLocked is Hold where there are no pipes.
func HoldLocked(path string) (*Holder, error) {
	f, err := locked(path)
	return &Holder{f, path}, err
}
