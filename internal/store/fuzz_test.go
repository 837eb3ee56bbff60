package store

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A line that parses can be written, and reads back as itself.
func FuzzParseTrial(f *testing.F) {
	f.Add([]byte(lineOf(1)))
	whole := must.Get(encodeTrial(sample(1)))(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"schema":"tare.trial/1.9","mode":"m","workload":"w","status":"failed","metrics":{"x":-0.0},"series":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		tr, err := parseTrial(line)
		if err != nil {
			return
		}
		first, err := encodeTrial(tr)
		must.Do(must.Named(t, "cannot be written"), err)
		again, err := parseTrial(first)
		must.Do(must.Named(t, "cannot be read back"), err)
		if second, err := encodeTrial(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}

// Sessions that parse tell trials apart without a panic, whatever they contain.
func FuzzParseSessions(f *testing.F) {
	s := session("s1", "300ms", wholeRun().Tare)
	whole := must.Get(encode(sessionsJSON{sessionsSchema, []result.Session{s, session("s2", "1s", wholeRun().Tare)}}, ""))(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"schema":"tare.sessions/1","sessions":[{"settings":{"modes":{"host":null},"workloads":{"tcp_rr":null}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		sessions, err := parseSessions(data)
		if err != nil {
			return
		}
		trials := []result.Trial{trialIn(s, 1), sample(2), trialIn(s, 1)}
		out := separate(trials, lastOf(sessions), sessions)
		apart := 0
		if out.apart != nil {
			apart = out.apart.Trials.Total()
		}
		must.Require(t, len(out.own)+len(out.repeated)+apart == len(trials), "%d trials, %d repeated, %d apart of %d", len(out.own), len(out.repeated), apart, len(trials))
		_ = killed(lastOf(sessions), out.own)
	})
}

// Whatever the file holds, what OpenAppend would keep reads alike.
func FuzzParseTrials(f *testing.F) {
	f.Add([]byte(lineOf(1) + "\n" + lineOf(2)))
	f.Add([]byte(lineOf(1) + "\n\n" + lineOf(2)[:50]))
	f.Fuzz(func(t *testing.T, data []byte) {
		trials, end, _, err := parseTrials(bytes.NewReader(data), parseTrial, maxMemory)
		if err != nil {
			return
		}
		kept := append([]byte{}, data[:end.offset]...)
		if end.noNewline {
			kept = append(kept, '\n')
		}
		must.Require(t, len(kept) == 0 || kept[len(kept)-1] == '\n', "kept %q does not end a line", kept)
		again, end, _, err := parseTrials(bytes.NewReader(kept), parseTrial, maxMemory)
		diff := cmp.Diff(trials, again)
		must.Require(t, err == nil && diff == "" && end.offset == int64(len(kept)) && !end.noNewline, "%v, %+v of %d bytes, %s", err, end, len(kept), diff)
	})
}

// The decoder that reads trials takes of a line what that of encoding/json does.
func FuzzDecoders(f *testing.F) {
	f.Add([]byte(lineOf(1)))
	whole := must.Get(encodeTrial(sample(1)))(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for _, metrics := range []string{`{}`, `null`, `{"a":1,"a":2}`, `{ "a" : -1.5e3 , "\u0062":0}`, "{\"\xff\":1}", `{"a":1},"metrics":{"b":2}`, `{"cpu_user":1,"x":2}`, `{"a":null}`, `{"a":"1"}`, `{"a":{"b":1}}`, `[1]`, `{"a":1e999}`, `{"cpu_user":1,"cpu_user":2}`, `{"A":1}`, "{\n\t\"a\" :\r1 , \"b\":2}"} {
		f.Add([]byte(`{"schema":"tare.trial/1","mode":"m","workload":"w","status":"ok","client":{"mss":5},"machine":` + metrics + `,"metrics":` + metrics + `}`))
		f.Add([]byte(`{"schema":"tare.trial/1","mode":"m","workload":"w","status":"ok","client":{"mss":5},"client":{},"series":{"metric":"x","interval":1,"values":[1, -2.5e3 ]},"processes":[{"name":"p","cpu":1}],"machine":` + metrics + `,"x":[{"y":"]\"}"}]}`))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var want result.Trial
		wrong := json.Unmarshal(line, &want)
		got, err := parseTrial(line)
		must.Require(t, wrong == nil || err != nil, "%v is not an error", wrong)
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
