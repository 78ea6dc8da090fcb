package tool

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAClockStandsStillWhileItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		var expired time.Time
		began := time.Now()
		c.start(10*time.Second, func() { expired = time.Now() })
		time.Sleep(4 * time.Second)
		c.Stop()
		c.Stop()
		time.Sleep(time.Hour)
		c.Start()
		time.Sleep(time.Hour)
		c.Start()
		c.Start() // one too many changes nothing
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !expired.IsZero() {
			t.Fatalf("it expired after %v", expired.Sub(began))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := expired.Sub(began); got != 2*time.Hour+10*time.Second {
			t.Errorf("it expired after %v", got)
		}
	})
}

func TestAClockStoppedBeforeItBeganWaitsToBeStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		expired := false
		c.Stop()
		c.start(time.Second, func() { expired = true })
		time.Sleep(time.Minute)
		synctest.Wait()
		if expired {
			t.Fatal("it ran while it was stopped")
		}
		c.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if !expired {
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
