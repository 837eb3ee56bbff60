package facts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := CPUs(root)
			if (err != nil) != tt.fails {
				t.Fatalf("error %v, want one: %t", err, tt.fails)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("CPUs (-want +got):\n%s", diff)
			}
		})
	}
}
