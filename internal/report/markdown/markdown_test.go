package markdown

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestMarkdownEscape(t *testing.T) {
	for in, want := range map[string]string{
		"netns/vxlan":    "netns/vxlan",
		"tcp_stream":     "tcp_stream",
		"_x_":            `\_x\_`,
		"a|b":            `a\|b`,
		"-":              "-",
		"- item":         `\- item`,
		"1. item":        `1\. item`,
		"0.068":          "0.068",
		"x\n# h":         "x # h",
		"<b>&amp;":       "&lt;b&gt;&amp;amp;",
		"![a](b)":        `!\[a\](b)`,
		"*a* `b` ~c~ $d": "\\*a\\* \\`b\\` \\~c\\~ \\$d",
		`\|`:             `\\\|`,
	} {
		must.EqualFor(t, in, want, md(in))
	}
}
