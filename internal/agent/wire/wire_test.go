package wire

import (
	"errors"
	"io"
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

func TestRoundTrip(t *testing.T) {
	var buf strings.Builder
	want := []Request{{ID: 1, Op: OpListen, Params: &traffic.Params{Workload: study.Workload{Kind: "tcp_rr"}, Token: "x"}}, {ID: 2, Op: OpReport}}
	for _, r := range want {
		must.Do(t, Write(&buf, r))
	}
	r := NewReader(strings.NewReader(buf.String()))
	var got []Request
	for {
		var q Request
		err := r.Read(&q)
		if errors.Is(err, io.EOF) {
			break
		}
		must.Do(t, err)
		got = append(got, q)
	}
	must.Equal(t, want, got)
}

func TestBadLines(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"no JSON":     {"hello\n", `read message "hello`},
		"cut":         {`{"id":1`, "unexpected EOF"},
		"too long":    {strings.Repeat("x", MaxLine+1), "longer than"},
		"wrong types": {`{"id":"one"}` + "\n", "read message"},
	} {
		t.Run(name, func(t *testing.T) {
			var q Request
			err := NewReader(strings.NewReader(c.in)).Read(&q)
			must.Fail(t, err, c.want)
		})
	}
}
