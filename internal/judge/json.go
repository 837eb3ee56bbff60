package judge

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxDepth is how many levels of JSON are read.
const maxDepth = 64

// document is what a JSON document has in the places that are known: a number, a text or a bool. Its keys
// are the first ones at its top.
type document struct {
	values map[string]any
	keys   []string
	// of the list of fortio's percentiles: the last one read, and the values by it
	percentile  float64
	percentiles map[float64]float64
}

func newDocument() *document {
	return &document{values: map[string]any{}, percentiles: map[float64]float64{}}
}

// number is the number in a place.
func (d *document) number(path string) (float64, bool) {
	v, ok := d.values[path].(float64)
	return v, ok
}

// text is the text in a place, cut to what a name may have.
func (d *document) text(path string) string {
	s, _ := d.values[path].(string)
	return s
}

// is reports whether there is true in a place.
func (d *document) is(path string) bool {
	yes, _ := d.values[path].(bool)
	return yes
}

// has reports whether one of these keys is at the top.
func (d *document) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(d.keys, k) })
}

// jsonReader reads JSON token by token, so that only what is known is held in memory: a document, several,
// or a list of them, each a trial.
type jsonReader struct {
	*builder
	dec   *json.Decoder
	file  int32
	n     int // the document, counted from 1
	known map[string]bool
}

// json reads the JSON of iperf3, fortio and k8s-netperf.
func (b *builder) json(in *bufio.Reader) error {
	r := jsonReader{builder: b, dec: json.NewDecoder(in), file: b.files.index(b.file), known: map[string]bool{}}
	b.nouns[r.file] = "document"
	for _, paths := range [][]string{iperf3Paths(), fortioPaths(), k8sPaths()} {
		for _, path := range paths {
			r.known[path] = true
		}
	}
	d := newDocument()
	for {
		t, err := r.token()
		if errors.Is(err, io.EOF) && r.n > 0 {
			return nil
		}
		if err != nil {
			return r.broken(err)
		}
		switch t {
		case json.Delim('['):
			for r.dec.More() {
				t, err := r.token()
				if err != nil {
					return r.broken(err)
				}
				if err := r.document(newDocument(), t); err != nil {
					return err
				}
			}
			if _, err := r.token(); err != nil {
				return r.broken(err)
			}
		default:
			if err := r.document(d, t); err != nil {
				return err
			}
			if d.values["event"] == nil || d.text("event") == "end" {
				d = newDocument()
			}
		}
		r.n = max(r.n, 1)
	}
}

// broken is the error for JSON that cannot be read.
func (r *jsonReader) broken(err error) error {
	syntax := new(json.SyntaxError)
	switch {
	case errors.Is(err, errRecord):
		return fmt.Errorf("a text or a number of its JSON is %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("its JSON is truncated: give the whole output of a program that ended")
	case errors.As(err, &syntax):
		return fmt.Errorf("it begins as JSON and is none after byte %d: %w", syntax.Offset, err)
	}
	return err
}

// token reads a token, or allows the decoder to read one.
func (r *jsonReader) token() (json.Token, error) {
	r.in.next()
	return r.dec.Token()
}

// document reads the document that begins with a token, and adds its values.
func (r *jsonReader) document(d *document, t json.Token) error {
	r.n++
	if err := r.value(d, "", t, 0); err != nil {
		return r.broken(err)
	}
	return cmp.Or(r.trial(d), r.full())
}

// value reads a value, which a token begins, of the place of a path.
func (r *jsonReader) value(d *document, path string, t json.Token, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("its JSON has more than %d levels", maxDepth)
	}
	if t != json.Delim('{') && t != json.Delim('[') {
		r.set(d, path, t)
		return nil
	}
	object := t == json.Delim('{')
	for r.dec.More() {
		inner := path
		t, err := r.token()
		if err != nil {
			return err
		}
		if key, ok := t.(string); ok && object {
			if inner = strings.TrimPrefix(path+"."+cut(key), "."); len(inner) > 4*maxName {
				inner = path // no place that is known is as long
			}
			if depth == 0 && len(d.keys) < 2*maxTextColumns {
				d.keys = append(d.keys, cut(key))
			}
			if t, err = r.token(); err != nil {
				return err
			}
		}
		if err := r.value(d, inner, t, depth+1); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

func cut(text string) string { return strings.Clone(text[:min(len(text), maxName)]) }

// set takes note of a value if its place is known. iperf3's --json-stream has its end in an event.
func (r *jsonReader) set(d *document, path string, t json.Token) {
	if rest, ok := strings.CutPrefix(path, "data."); ok {
		path = cmp.Or(map[string]string{"start": "start.", "end": "end."}[d.text("event")], "data.") + rest
	}
	switch v := t.(type) {
	case string:
		if r.known[path] {
			d.values[path] = cut(v)
		}
	case float64:
		switch {
		case path == "DurationHistogram.Percentiles.Percentile":
			d.percentile = v
		case path == "DurationHistogram.Percentiles.Value" && len(d.percentiles) < maxName:
			d.percentiles[d.percentile] = v
		case r.known[path]:
			d.values[path] = v
		}
	case bool:
		if r.known[path] {
			d.values[path] = v
		}
	}
}

// trial adds the values of a document.
func (r *jsonReader) trial(d *document) error {
	switch schema := d.text("schema"); {
	case strings.HasPrefix(schema, "tare.trial/"):
		return errors.New("these are the trials of a run of tare: use tare export RUN | tare judge -")
	case strings.HasPrefix(schema, "tare."):
		return errors.New("this is the run.json of a run of tare: tare report RUN shows it, and tare export RUN | tare judge - judges its trials")
	case d.has("tputMetric") && d.has("profile"):
		return r.k8s(d)
	case d.has("DurationHistogram"):
		return r.fortio(d)
	case d.text("event") != "" && d.text("event") != "end" && d.text("event") != "error":
		return nil
	case d.has("end", "intervals", "event") || d.has("error") && d.has("start"):
		return r.iperf3(d)
	}
	keys := "no keys"
	if len(d.keys) > 0 {
		keys = "the keys " + listNames(quoted(d.keys))
	}
	return fmt.Errorf("%s %d is JSON with %s, and not that of iperf3, fortio or k8s-netperf: %s", r.nouns[r.file], r.n, keys, aTable)
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return out
}
