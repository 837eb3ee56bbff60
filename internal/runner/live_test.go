//go:build linux

package runner_test

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// hog starts a program that keeps a CPU busy and is not a child of this test, so that it does not belong
// to the run.
func hog(t *testing.T) {
	t.Helper()
	out := must.Get(exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", `sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!`).Output())(t)
	pid := must.Get(strconv.Atoi(strings.TrimSpace(string(out))))(t)
	t.Cleanup(func() {
		must.EqualFor(t, "end the program that kept a CPU busy", nil, syscall.Kill(pid, syscall.SIGKILL))
	})
}

// With a program that keeps a CPU busy, trials that run alone are invalid because of it, and are repeated. The
// limit is far below its use on any machine.
func TestAloneHogMakesInvalid(t *testing.T) {
	hog(t)
	_, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
		s.Invalid = study.Invalid{Others: quantity.ShareOf(0.001), Most: quantity.NotApplied()}
	}, nil)
	var got []string
	for _, tr := range trials {
		got = append(got, fmt.Sprintf("%s %t", tr.Status, tr.Requeued))
		t.Log(tr.Reason)
		must.True(t, tr.Status != result.TrialInvalid || strings.HasPrefix(tr.Reason, "other programs used "), "reason %q", tr.Reason)
	}
	must.Equal(t, "invalid false, invalid true", strings.Join(got, ", "))
}
