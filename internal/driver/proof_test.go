package driver

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bulk is one second of a stream: 100 MB forward, acknowledgements back.
func bulk() Carried {
	return Carried{
		Forward: Flow{Payload: 100 << 20, Wire: 100<<20 + 50<<10, Segments: 75_000, Connections: 1},
		Reverse: Flow{Segments: 30_000, Connections: 1},
	}
}

// chatter is 50 000 exchanges of one byte.
func chatter() Carried {
	f := Flow{Payload: 50_000, Messages: 50_000, Wire: 50_000, Segments: 50_003, Connections: 1}
	return Carried{Forward: f, Reverse: f}
}

func TestVerify(t *testing.T) {
	rules := []Rule{{"out", Forward}, {"back", Reverse}, {"nat", Connections}, {"aside", Still}}
	tests := []struct {
		name    string
		carried Carried
		moved   Counters
		want    string // in the error; none when empty
	}{
		{"all on the path", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 1, "aside": 500}, ""},
		{"no headers counted", bulk(), Counters{"out": 100 << 20, "back": 30_000 * 52, "nat": 1, "aside": 0}, ""},
		{"nothing on the path", bulk(), Counters{"out": 900, "back": 900, "nat": 1, "aside": 0}, "counter out moved by 900"},
		{"one percent went elsewhere", bulk(), Counters{"out": 99 << 20, "back": 2 << 20, "nat": 1, "aside": 0}, "counter out"},
		{"crossed twice", bulk(), Counters{"out": 202 << 20, "back": 2 << 20, "nat": 1, "aside": 0}, "counter out"},
		{"rule not met", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 0, "aside": 0}, "1 connections must have met that rule"},
		{"a way round", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 1, "aside": 1 << 20}, "must stand still"},
		{"counter not read", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 1}, "aside was not read"},
		{"acknowledgements went elsewhere", bulk(), Counters{"out": 101 << 20, "back": 5_000, "nat": 1, "aside": 0}, "counter back"},
		{"exchanges", chatter(), Counters{"out": 50_000 * 67, "back": 50_000 * 67, "nat": 1, "aside": 0}, ""},
		{"only payload of exchanges", chatter(), Counters{"out": 50_000, "back": 50_000 * 67, "nat": 1, "aside": 0}, "counter out"},
		{"too little to tell", Carried{Forward: Flow{Payload: 1000}}, Counters{"out": 1000, "back": 0, "nat": 1, "aside": 0}, "too little"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := Counters{}, Counters{}
			for name, n := range tt.moved {
				before[name], after[name] = 1000, 1000+n
			}
			err := Verify(rules, before, after, tt.carried)
			if tt.want == "" && err != nil {
				t.Errorf("not proven: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestCountersOfAReplacedDevice(t *testing.T) {
	for name, after := range map[string]Counters{"gone": {}, "backwards": {"x": 5}} {
		if _, err := (Counters{"x": 10}).Moved(after); err == nil || !strings.Contains(err.Error(), "replaced") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A counter that missed a tenth of the payload never passes, whatever the sizes.
func TestVerifyNeverPassesALeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.Uint64Range(minTraffic, 1<<40).Draw(t, "payload")
		c := Carried{Forward: Flow{Payload: payload, Wire: payload, Segments: payload / 1448, Connections: 1}}
		moved := rapid.Uint64Range(0, payload-payload/10).Draw(t, "moved")
		if err := Verify([]Rule{{"out", Forward}}, Counters{"out": 0}, Counters{"out": moved}, c); err == nil {
			t.Fatalf("%d of %d bytes passed as the whole", moved, payload)
		}
	})
}
