package study_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
)

// FuzzDecode feeds Decode anything. What it takes must survive being written
// and read again, as it is and resolved.
func FuzzDecode(f *testing.F) {
	bad, err := os.ReadFile("testdata/bad.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(bad), "=====\n") {
		src, _, _ := strings.Cut(c, ">>>\n")
		f.Add([]byte(src))
	}
	f.Add([]byte(everything))
	f.Add([]byte("modes: &m [host]\nworkloads: [tcp_rr, {workload: tcp_stream, warmup: &d 0, duration: 1m30.5s}]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := study.Decode("s.yaml", src, sample())
		if err != nil {
			checkErrors(t, err)
			return
		}
		again(t, s)
		if s, err = study.Resolve(s, sample()); err == nil {
			again(t, s)
		}
	})
}

// again writes s and reads it back.
func again(t interface {
	Helper()
	Fatalf(string, ...any)
}, s study.Study) {
	t.Helper()
	text, err := study.Marshal(s)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	got, err := study.Decode("again.yaml", text, sample())
	if err != nil {
		t.Fatalf("decode what was written: %v\n%s", err, text)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Fatalf("written and read again (-want +got):\n%s\n%s", diff, text)
	}
}

// FuzzUnits holds that what a unit's text means is what its String says.
func FuzzUnits(f *testing.F) {
	for _, text := range []string{"0", "1400", "128KiB", "auto", "1.5s", "1m30s", "2h", "100ms", "1Gbit/s", "1.5gbit", "1e3", "-1", "9223372036854775807"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, unit := range []struct {
			a, b interface {
				UnmarshalText([]byte) error
				String() string
			}
		}{
			{new(study.Duration), new(study.Duration)},
			{new(study.Size), new(study.Size)},
			{new(study.BufferSize), new(study.BufferSize)},
			{new(study.Rate), new(study.Rate)},
		} {
			if unit.a.UnmarshalText([]byte(text)) != nil {
				continue
			}
			if err := unit.b.UnmarshalText([]byte(unit.a.String())); err != nil {
				t.Fatalf("%q is written %q: %v", text, unit.a, err)
			}
			if diff := cmp.Diff(unit.a, unit.b); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", text, diff)
			}
		}
	})
}
