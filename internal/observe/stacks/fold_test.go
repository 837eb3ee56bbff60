package stacks

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
)

func TestFold(t *testing.T) {
	for _, s := range []Stack{
		{Kind: Generator, Name: "tare", User: []string{"main.main", "write"}, Kernel: []string{"do_syscall_64", "tcp_sendmsg"}},
		{Kind: Kernel, Name: "ksoftirqd/0", Kernel: []string{"run_ksoftirqd"}},
		{Kind: Other, Name: "a (b)", User: []string{"[a (b)]"}},
		{Kind: Idle, Name: "swapper"},
	} {
		must.EqualFor(t, Fold(s), s, Unfold(Fold(s)))
	}
	hostile := Stack{Kind: Other, Name: "a;b\nc \x1b[31m", User: []string{"x;y\r"}}
	must.Equal(t, "other (a?b?c ?[31m);x?y?", Fold(hostile))
}

func TestWriteAndRead(t *testing.T) {
	want := map[string]int{"generator (tare);main.main": 3, "idle (swapper)": 1, "other (two words);f g_[k]": 12}
	var b bytes.Buffer
	must.Do(t, Write(&b, want))
	twice := append(bytes.Clone(b.Bytes()), "\r\nidle (swapper) 4\n"...)
	got, err := Read(twice)
	want["idle (swapper)"] = 5
	d := cmp.Diff(want, got)
	must.True(t, d == "" && err == nil, "%v (-want +got):\n%s", err, d)
	for _, bad := range []string{"nocount\n", "a;b many\n", "a -1\n"} {
		must.FailFor(t, fmt.Sprintf("%q was read", bad), must.Err(Read([]byte(bad))))
	}
}

func FuzzUnfold(f *testing.F) {
	f.Add("generator (tare);main.main;tcp_sendmsg_[k]")
	f.Add("idle (swapper")
	f.Add(";;_[k]; 1")
	sorter := NewClassifier()
	f.Fuzz(func(t *testing.T, line string) {
		s := Unfold(line)
		must.True(t, sorter.Component(s) != "", "%q is in no component", line)
		again := Unfold(Fold(s))
		must.True(t, again.Kind == s.Kind && (len(again.Kernel) == len(s.Kernel) || len(s.Kernel) <= 0), "%q: %+v came back as %+v", line, s, again)
	})
}
