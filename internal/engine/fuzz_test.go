package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/testkit/must"
)

// canned is a server that gives every request the same answer.
type canned struct {
	status  int
	content string
	body    []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{"Content-Type": {c.content}, "Api-Version": {"1.45"}, "Ostype": {"linux"}}
	return &http.Response{StatusCode: c.status, ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: -1, Request: r}, nil
}

// FuzzAnswers checks that whatever an engine answers to the requests that a run and gc send, each
// ends with a result or an error on one line.
func FuzzAnswers(f *testing.F) {
	const labelled = `"Labels":{"` + LabelRun + `":"0123abcd","` + LabelMachine + `":"00000000"}`
	f.Add(200, `[{"Id":"a","Names":["/x"],`+labelled+`},{"Names":null}]`)
	f.Add(200, `[{"Id":"a","Name":"net","Scope":"swarm",`+labelled+`}]`)
	f.Add(200, `{"Id":"a","State":{"Running":true,"Pid":-1},"HostConfig":{"NanoCpus":-9223372036854775808},"NetworkSettings":{"Networks":{"x":null,"y":{"IPAddress":"10.0.0.1","IPPrefixLen":-5}}}}`)
	f.Add(200, `{"Version":"28","Components":[{"Name":"containerd","Version":"\u001b[31m"}],"KernelVersion":"6\n1"}`)
	f.Add(200, `{"status":"x"}`+"\n"+`{"error":"refused"}`)
	f.Add(200, `{"Swarm":{"NodeID":"n","ControlAvailable":true,"RemoteManagers":[null]}}`)
	f.Add(500, `{"message":"line\nline\u001b]0;x\u0007"}`)
	f.Add(404, "")
	f.Add(301, "<html>")
	f.Fuzz(func(t *testing.T, status int, body string) {
		kind := "application/json"
		if len(body)%7 == 6 {
			kind = "text/plain"
		}
		answer := canned{200 + (status%400+400)%400, kind, []byte(body)}
		e := must.Get(cannedEngine(client.WithHost("tcp://192.0.2.1:1"), client.WithHTTPClient(&http.Client{Transport: answer}), client.WithAPIVersion("1.45")))(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c := &Container{ID: "a", Name: "x", engine: e}
		left, listed := e.Leftovers(ctx, nil)
		for _, l := range left {
			must.True(t, l.Run != "", "%s belongs to no run", l.What)
		}
		_, state := c.State(ctx)
		_, swarm := e.Swarm(ctx)
		got, inspected := c.inspect(ctx)
		if inspected == nil {
			c.read(got)
		}
		for _, err := range []error{e.Identify(ctx), listed, state, swarm, c.Remove(ctx), e.RemoveRun(ctx, "0123abcd")} {
			must.True(t, err == nil || !strings.ContainsAny(err.Error(), "\n\r"), "the error %q is not on one line", err)
		}
	})
}

// FuzzExecStream checks that of the multiplexed output of a process in a container, whatever its
// frames announce, only the standard output is read, and no more than was sent.
func FuzzExecStream(f *testing.F) {
	frame := func(stream byte, size uint32, text string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{stream, 0, 0, 0}, size), text...)
	}
	f.Add(append(frame(1, 3, "out"), frame(2, 4, "word")...))
	f.Add(frame(1, 0xffffffff, "x"))
	f.Add(frame(3, 5, "error"))
	f.Add(frame(9, 1, "x"))
	f.Add([]byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		near, far := net.Pipe()
		e := must.Get(cannedEngine(client.WithHost("tcp://192.0.2.1:1"), client.WithHTTPClient(&http.Client{Transport: canned{404, "application/json", nil}}), client.WithAPIVersion("1.45")))(t)
		x := &execution{container: &Container{ID: "a", Name: "x", engine: e}, at: time.Now(), io: client.NewHijackedResponse(near, ""), ended: make(chan struct{})}
		x.out, x.in = io.Pipe()
		go x.copy()
		go func() {
			_, _ = far.Write(sent) // the reader may refuse it
			far.Close()
		}()
		got, err := io.ReadAll(x)
		<-x.ended
		must.True(t, err == nil && len(got) <= len(sent), "%d of %d bytes are output: %v", len(got), len(sent), err)
		if n := len(x.words.String()); n > len(sent)+100 {
			t.Errorf("%d of %d bytes are kept of the error output", n, len(sent))
		}
		if reason := x.ExitReason(); reason == "" {
			t.Error("it ended without a reason")
		}
	})
}

// FuzzImageOwner checks that a tag of an image belongs to a run only if it was made by tagOf.
func FuzzImageOwner(f *testing.F) {
	const hash = "0123456789abcdef"
	f.Add(Repository+":"+tagOf(hash, "0123abcd"), hash)
	f.Add(Repository+":", "")
	f.Add("x/"+Repository+":0123456789ab-", hash)
	f.Fuzz(func(t *testing.T, name, hash string) {
		run, ok := imageOwner(name, hash)
		must.True(t, !ok || run != "" && strings.HasSuffix(name, Repository+":"+tagOf(hash, run)), "%q belongs to %q", name, run)
	})
}

// The streams of a process's output are separated, and an error of the engine, a truncated frame and
// an unknown stream are errors.
func TestSeparate(t *testing.T) {
	const good = "\x01\x00\x00\x00\x00\x00\x00\x03out\x02\x00\x00\x00\x00\x00\x00\x04word\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01!"
	for text, want := range map[string]string{
		"":                                   "",
		"\x03\x00\x00\x00\x00\x00\x00\x02no": "the engine ended its output: no",
		"\x01\x00\x00\x00\xff\xff\xff\xffa":  "read a frame of 4294967295 bytes: unexpected EOF",
		"\x01\x00\x00":                       "read a frame: unexpected EOF",
		"\x09\x00\x00\x00\x00\x00\x00\x00":   "unknown stream 9 in its output",
	} {
		var out, words bytes.Buffer
		err := separate(&out, &words, strings.NewReader(good+text))
		if said := ""; err != nil || want != "" {
			if err != nil {
				said = err.Error()
			}
			must.EqualFor(t, text, want, said)
		}
		must.True(t, strings.HasPrefix(out.String(), "out!") && words.String() == "word", "%q: output %q, error output %q", text, out.String(), words.String())
	}
}

// cannedEngine is an engine without connections, which New limits.
func cannedEngine(options ...client.Opt) (*Engine, error) {
	api, err := client.New(options...)
	return &Engine{Name: "x", api: api}, err
}
