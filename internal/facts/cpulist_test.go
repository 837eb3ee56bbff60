package facts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.in, d)
		}
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
		again, err := parseCPUList(formatCPUList(cpus))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(cpus, again); d != "" {
			t.Errorf("%q there and back (-want +got):\n%s", s, d)
		}
	})
}
