package cni_test

import (
	"bytes"
	"strings"
	"testing"
	"text/template"

	"tare/internal/driver/cni"
	"tare/internal/testkit/must"
)

func sample() cni.Values {
	return cni.Values{PodCIDR: "198.18.1.0/24", PodCIDRRanges: []string{"198.18.1.0/24", "2001:2::/64"}, Host: "a", Device: "eth0", MTU: 1500, Underlay: []cni.Span{{Subnet: "s", First: "f", Last: "l"}, {Subnet: "t"}}}
}

// What is filled in is what package text/template does.
func TestPlaceholders(t *testing.T) {
	for _, text := range []string{
		`{{range $i, $s := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$s}}"}]{{end}}`,
		`{{range .Underlay}}{{.Subnet}}-{{.First}} {{$.MTU}}{{end}}{{range .Routes}}x{{else}}none{{end}}`,
		`{{- if eq .Host "a" -}} one {{else if eq .Host "b"}} two {{end}}{{/* nothing */}}`,
		`{{with index .PodCIDRRanges 1}}{{.}}{{else}}no{{end}}{{with .Routes}}{{.}}{{else}}no{{end}}`,
		`{{$x := .MTU}}{{range .PodCIDRRanges}}{{$x = 7}}{{$y := .}}{{$y}}{{end}}{{$x}}{{ne $x 7}}{{.PodCIDRRanges | len}}{{not .Device}}`,
		`{{(index .Underlay 0).Last}}{{if and}}{{end}}`,
	} {
		var want bytes.Buffer
		parsed, err := template.New("test").Parse(text)
		if err == nil {
			err = parsed.Execute(&want, sample())
		}
		got, failed := cni.Fill(text, sample())
		if (err == nil) != (failed == nil) || err == nil && got != want.String() {
			t.Errorf("%s: %q, %v; text/template: %q, %v", text, got, failed, want.String(), err)
		}
	}
}

func TestPlaceholderErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\n{{.Pod}}":                            "test:2:2: .Pod: can't evaluate field Pod; there are Device, Host, MTU, PodCIDR, PodCIDRRanges, Routes, Underlay",
		"{{.MTU.Bytes}}":                        "can't evaluate field Bytes",
		"{{.Routes}}":                           "a list or a structure has no text of its own",
		"{{range .Host}}{{end}}":                "range is over lists only",
		"{{index .Routes 0}}":                   "it is no place in a list",
		"{{eq .Host .MTU}}":                     "only values of one kind are compared",
		"{{len .Host 1}}":                       "len takes 1 arguments, not 2",
		`{{printf "%9999999999d" 1}}`:           `test:1: function "printf" not defined`,
		"{{.Host .MTU}}":                        "it is no function",
		`{{define "x"}}{{end}}{{template "x"}}`: "only fields, variables, if, range and with",
		strings.Repeat("{{range $.PodCIDRRanges}}", 40) + strings.Repeat("{{end}}", 40):                                    "its ranges take more than 100000 steps",
		strings.Repeat("{{range $.PodCIDRRanges}}", 12) + strings.Repeat("1234567890", 50) + strings.Repeat("{{end}}", 12): "more than 1 MiB",
	} {
		if _, err := cni.Fill(text, sample()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// FuzzPlaceholders checks that whatever is filled in is what package text/template does.
func FuzzPlaceholders(f *testing.F) {
	f.Add(`{{range $i, $s := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$s}}"}]{{end}}`)
	f.Add(`{{$x := 1}}{{with .Host}}{{$x = 2}}{{end}}{{if eq $x 2}}{{len .}}{{else}}a{{end}}`)
	f.Add(`{{range $x := .Underlay}}{{(index $.Underlay 1).Subnet | len}}{{else}}{{end}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := cni.Fill(text, sample())
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		var want bytes.Buffer
		must.Do(t, must.Get(template.New("test").Parse(text))(t).Execute(&want, sample()))
		must.Equal(t, want.String(), got)
	})
}
