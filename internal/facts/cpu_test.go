package facts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
)

func TestCPUList(t *testing.T) {
	tests := []struct {
		in   string
		want []int
		out  string // as printed back
	}{
		{"", nil, ""},
		{"\n", nil, ""},
		{"0\n", []int{0}, "0"},
		{"0-3,8", []int{0, 1, 2, 3, 8}, "0-3,8"},
		{"8,0-1,1-2", []int{0, 1, 2, 8}, "0-2,8"},
		{"5-5", []int{5}, "5"},
		{"1,3,5-6", []int{1, 3, 5, 6}, "1,3,5-6"},
	}
	for _, tt := range tests {
		got, err := parseCPUList(tt.in)
		must.True(t, err == nil, "%q: %v", tt.in, err)
		must.EqualFor(t, tt.in, tt.want, got)
		if out := formatCPUList(got); out != tt.out {
			t.Errorf("%q is printed %q, want %q", tt.in, out, tt.out)
		}
	}
	for _, in := range []string{"x", "1,", "3-1", "-1", "1-", "1-2-3", "0-99999999", "0x1", "1;2"} {
		if got, err := parseCPUList(in); err == nil {
			t.Errorf("%q gives %v, want an error", in, got)
		}
	}
}

func FuzzCPUList(f *testing.F) {
	f.Add("0-3,8")
	f.Add("0-65535,0-65535")
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := parseCPUList(s)
		if err != nil {
			return
		}
		again := must.Get(parseCPUList(formatCPUList(cpus)))(t)
		if d := cmp.Diff(cpus, again); d != "" {
			t.Errorf("%q there and back (-want +got):\n%s", s, d)
		}
	})
}

func TestCPUs(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  []int
		fails bool
	}{
		{"threads share cores", map[string]string{
			"proc/self/status": "Cpus_allowed_list:\t0-7\n", "sys/devices/system/cpu/online": "0-3\n",
			"sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,2\n", "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1,3\n",
			"sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "0,2\n", "sys/devices/system/cpu/cpu3/topology/thread_siblings_list": "1,3\n",
		}, []int{0, 1}, false},
		{"a pinned process", map[string]string{"proc/self/status": "Cpus_allowed_list:\t3\n", "sys/devices/system/cpu/online": "0-3\n"}, []int{3}, false},
		{"no topology", map[string]string{"proc/self/status": "Cpus_allowed_list:\t0-1\n"}, []int{0, 1}, false},
		{"nothing online of what is allowed", map[string]string{"proc/self/status": "Cpus_allowed_list:\t4\n", "sys/devices/system/cpu/online": "0-3\n"}, nil, true},
		{"no proc", nil, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(root, name)
				must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must.Do(t, os.WriteFile(path, []byte(text), 0o644))
			}
			got, err := CPUs(root)
			must.Require(t, (err != nil) == tt.fails, "error %v, want one: %t", err, tt.fails)
			must.EqualFor(t, "CPUs", tt.want, got)
		})
	}
}
