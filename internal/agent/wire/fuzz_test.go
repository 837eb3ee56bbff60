package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzMessages checks that a message which was read is written and read again without change, and
// that no error is longer than it needs or on several lines.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"id":1,"op":"listen","params":{"kind":"tcp_rr","duration":5}}`+"\n"), []byte(`{"id":1,"port":65535,"report":{"window":{"series":[1e308]}}}`+"\n"))
	f.Add([]byte(`{"id":1,"report":{"window":{"rtt":"HISTAAAA"}}}`+"\n"), []byte(`{"progress":{},"knock":{"token":"x"}}`+"\n"))
	f.Add([]byte("\n\n"), []byte(`{"id":"x\u001b"}`+"\n"))
	f.Add([]byte(strings.Repeat(" ", 5<<20)), []byte("{"))
	f.Fuzz(func(t *testing.T, requests, replies []byte) {
		unchanged[Request](t, requests)
		unchanged[Reply](t, replies)
	})
}

func unchanged[T any](t *testing.T, sent []byte) {
	t.Helper()
	for r := NewReader(bytes.NewReader(sent)); ; {
		var one, again T
		err := r.Read(&one)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			must.Require(t, len(err.Error()) <= 1000 && !strings.ContainsAny(err.Error(), "\n\x1b"), "the error is %.2000q", err)
			if strings.HasPrefix(err.Error(), "message longer") {
				return
			}
			continue
		}
		var first, second bytes.Buffer
		if err := Write(&first, one); err != nil {
			t.Fatalf("%+v cannot be written: %v", one, err)
		}
		if err := NewReader(bytes.NewReader(first.Bytes())).Read(&again); err != nil {
			t.Fatalf("%q cannot be read back: %v", first.Bytes(), err)
		}
		if err := Write(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("%v: %q came back as %q", err, first.Bytes(), second.Bytes())
		}
	}
}
