package quantity

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestParseMix(t *testing.T) {
	must.Equal(t, []Mixed{{9, 1 << 10}, {1, 1 << 20}, {2, 7}}, must.Get(ParseMix("9x1KiB,1x1MiB,2x7"))(t))
	for text, why := range map[string]string{
		"":                                    "no weight",
		"9x1KiB":                              "it has 1 sizes",
		"0x1KiB,1x2":                          "no weight",
		"1x0,1x2":                             "no size",
		"1x17MiB,1x2":                         "no size",
		"1x1KiB, 1x2":                         "no weight",
		"1,1":                                 "no size",
		"999x1,2x2":                           "weights of 1001 in total",
		"1x1,1x2,1x3,1x4,1x5,1x6,1x7,1x8,1x9": "it has 9 sizes",
		"99999999999999999999x1,1x1":          "no weight",
		"1x99999999999999999999,1x1":          "no size",
	} {
		_, err := ParseMix(text)
		must.FailFor(t, text, err, why)
	}
}
