package budget

// Kinds of what is used up.
const Turns, Tokens, Cost, Kinds = turns, tokens, cost, kinds

// Limit, Used and Held are the ledger's account of one kind.
func (l *Ledger) Limit(k int) float64 { return l.limits.amounts()[k] }
func (l *Ledger) Used(k int) float64  { return l.used(k) }
func (l *Ledger) Held(k int) float64  { return l.held(k) }

// Aside is what is set aside for l's children.
func (l *Ledger) Aside(k int) float64 { return aside(k, l.kids) }

// Children is for how many ledgers below l, at once or further down, something is kept in mind.
func (l *Ledger) Children() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.kids)
}
