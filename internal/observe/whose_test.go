package observe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Programs tells the parties of a made-up process table apart.
func TestPrograms(t *testing.T) {
	root := t.TempDir()
	for _, p := range []struct {
		pid, parent, name, flags string
		args                     []string
	}{
		{"1", "0", "init", "0", []string{"/sbin/init"}},
		{"2", "0", "ksoftirqd/0", "2097152", nil},
		{"10", "1", "tare", "0", []string{"tare", "run"}},
		{"11", "10", "exe", "0", []string{"/proc/self/exe", "agent", "--run", "ab12", "--at", "host@a"}},
		{"12", "11", "iperf3", "0", []string{"iperf3", "-s"}},
		{"13", "10", "dockerd", "0", []string{"dockerd"}},
		{"14", "13", "docker-proxy", "0", []string{"docker-proxy"}},
		{"20", "1", "exe", "0", []string{"/proc/self/exe", "agent", "--run", "cd34", "--at", "host@a"}}, // another run's
		{"30", "1", "tare", "0", []string{"/tare", "agent", "--run", "ab12", "--at", "x@b"}},            // in a container
	} {
		dir := filepath.Join(root, p.pid)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		stat := p.pid + " (" + p.name + ") S " + p.parent + " 0 0 0 -1 " + p.flags + " 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0\n"
		for name, text := range map[string]string{"stat": stat, "cmdline": strings.Join(p.args, "\x00") + "\x00"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := Programs(root, Own{PID: 10, Run: "ab12"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]Program{
		1: {"init", Stranger}, 2: {"ksoftirqd/0", KernelThread}, 10: {"tare", Self}, 11: {"exe", Agent}, 12: {"iperf3", Agent},
		13: {"dockerd", Kin}, 14: {"docker-proxy", Kin}, 20: {"exe", Stranger}, 30: {"tare", Agent},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := Programs(t.TempDir(), Own{PID: 10}); err == nil {
		t.Error("no error without a process table")
	}
}
