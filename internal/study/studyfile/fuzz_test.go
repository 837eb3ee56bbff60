package studyfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// FuzzDecode feeds Decode anything. What it takes must survive being written
// and read again, as it is and resolved.
func FuzzDecode(f *testing.F) {
	bad := must.Get(os.ReadFile("testdata/bad.txt"))(f)
	for _, c := range strings.Split(string(bad), "=====\n") {
		src, _, _ := strings.Cut(c, ">>>\n")
		f.Add([]byte(src))
	}
	f.Add([]byte(everything))
	f.Add([]byte("modes: &m [host]\nworkloads: [tcp_rr, {workload: tcp_stream, warmup: &d 0, duration: 1m30.5s}]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := studyfile.Decode("s.yaml", src, studytest.Catalog())
		if err != nil {
			checkErrors(t, err)
			return
		}
		again(t, s)
		if s, err = study.Resolve(s, studytest.Catalog()); err == nil {
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
	text, err := studyfile.Marshal(s)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	got, err := studyfile.Decode("again.yaml", text, studytest.Catalog())
	if err != nil {
		t.Fatalf("decode what was written: %v\n%s", err, text)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Fatalf("written and read again (-want +got):\n%s\n%s", diff, text)
	}
}
