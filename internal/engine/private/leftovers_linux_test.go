package private_test

import (
	"bufio"
	"fmt"
	"slices"
	"testing"

	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// controller runs two engines with one container each until it is killed.
func controller(t *testing.T, c private.Config) {
	l := drivertest.Lab(t, nil)
	a, b, err := c.StartBoth(t.Context(), l)
	must.Do(t, err)
	holder(t, l, a, "client", nil)
	holder(t, l, b, "server", nil)
	fmt.Printf("\nstands %s %d %d\n", l.Spec.Claim.ID, a.InitPID(), b.InitPID())
	<-t.Context().Done()
}

// Engines end with the process that started them, even if that is killed. What then remains is
// found and removed, including an engine that was stopped and could not end. What a live run has is
// not a leftover.
func TestControllerKilled(t *testing.T) { controllerKilled(t, "controller") }

// The same of engines of an ordinary user: their processes are in a user namespace, and their files are
// subordinate users'.
func TestEnginesRootlessControllerKilled(t *testing.T) {
	rootlessConfig(t)
	controllerKilled(t, "rootless controller")
}

func controllerKilled(t *testing.T, what string) {
	t.Helper()
	live, p := startOnLab(t)
	cmd := inRole(t, what)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	var id string
	var a, b int
	for lines := bufio.NewScanner(out); id == "" && lines.Scan(); {
		// The line may not be there yet, which leaves id empty.
		_, _ = fmt.Sscanf(lines.Text(), "stands %s %d %d", &id, &a, &b)
	}
	if id == "" {
		t.Fatal("the controller did not start its engines: ", cmd.Wait())
	}
	ofA, ofB := below(t, a), below(t, b)
	if len(ofA) < 4 || len(ofB) < 4 {
		t.Fatalf("engines of %v and %v", ofA, ofB)
	}
	if found := leftOf(t, id); len(found) > 0 {
		t.Errorf("a live run is considered dead: %v", found)
	}
	drivertest.Stop(t, a)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	eventually(t, "the end of the engine that can", func() bool { return len(running(ofB)) == 0 })
	found := leftOf(t, id)
	must.EqualFor(t, fmt.Sprintf("found %v", found), 2, len(found))
	for _, l := range found {
		for range 2 { // the second time it is gone already
			must.Equal(t, nil, l.Remove(t.Context()))
		}
	}
	if left := running(ofA); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if left := traces(t, id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if p.ExitReason() != "" || len(leftOf(t, live.Spec.Claim.ID)) > 0 {
		t.Errorf("the other run's engine: %q", p.ExitReason())
	}
	ofLab := must.Get(lab.Leftovers())(t)
	for _, l := range ofLab {
		if l.Run == id {
			must.Equal(t, nil, l.Remove())
		}
	}
}

// leftOf finds what gc would remove of one run.
func leftOf(t *testing.T, id string) []engine.Leftover {
	t.Helper()
	alive := must.Get(lab.Alive())(t)
	found := must.Get(private.Leftovers(alive))(t)
	return slices.DeleteFunc(found, func(l engine.Leftover) bool { return l.Run != id })
}
