package tool

import (
	"sync"
	"time"
)

// Clock is the time limit of one command. It can be stopped, e.g. while the
// command waits for an agent that has limits of its own. The zero value has
// no limit. It is safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	left    time.Duration
	since   time.Time // when it last began to run
	timer   *time.Timer
	stopped int
	expire  func()
}

// start begins to count: expire is called once the clock has run for limit.
func (c *Clock) start(limit time.Duration, expire func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.expire = limit, expire
	c.run()
}

// run sets the timer, if the clock is to run and has a limit.
func (c *Clock) run() {
	if c.stopped > 0 || c.expire == nil {
		return
	}
	c.since = time.Now()
	c.timer = time.AfterFunc(c.left, c.expire)
}

// Stop holds the clock until as many calls of Start have followed.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped++
	if c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.since)
		c.timer = nil
	}
}

// Start takes back one call of Stop.
func (c *Clock) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == 0 {
		return
	}
	c.stopped--
	if c.timer == nil {
		c.run()
	}
}

// end stops the clock for good.
func (c *Clock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.expire = nil
}
