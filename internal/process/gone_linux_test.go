package process_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

// gone waits until a process has exited, reaped or not.
func gone(t *testing.T, pid string) {
	t.Helper()
	for range 3000 {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s is still there", pid)
}
