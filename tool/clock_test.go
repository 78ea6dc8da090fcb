package tool

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAClockStandsStillWhileItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		var expired atomic.Int64 // nanoseconds after the beginning
		began := time.Now()
		c.start(10*time.Second, func() { expired.Store(int64(time.Since(began))) })
		time.Sleep(4 * time.Second)
		c.Stop()
		c.Stop()
		time.Sleep(time.Hour)
		c.Start()
		time.Sleep(time.Hour)
		c.Start()
		c.Start() // one too many changes nothing
		time.Sleep(5 * time.Second)
		if got := time.Duration(expired.Load()); got != 0 {
			t.Fatalf("it expired after %v", got)
		}
		time.Sleep(2 * time.Second)
		if got := time.Duration(expired.Load()); got != 2*time.Hour+10*time.Second {
			t.Errorf("it expired after %v", got)
		}
	})
}

func TestAClockStoppedBeforeItBeganWaitsToBeStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		var expired atomic.Bool
		c.Stop()
		c.start(time.Second, func() { expired.Store(true) })
		time.Sleep(time.Minute)
		if expired.Load() {
			t.Fatal("it ran while it was stopped")
		}
		c.Start()
		time.Sleep(time.Minute)
		if !expired.Load() {
			t.Error("it never expired")
		}
	})
}

func TestAnEndedClockDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		c.start(time.Second, func() { t.Error("it expired") })
		c.end()
		c.Stop()
		c.Start()
		time.Sleep(time.Minute)
	})
}
