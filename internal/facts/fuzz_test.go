package facts

import (
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzConfig checks that any kernel configuration is an error or has the settings of its lines.
func FuzzConfig(f *testing.F) {
	f.Add("CONFIG_HZ=250\n# CONFIG_X is not set\nCONFIG_NO_HZ_FULL=y\n")
	f.Add("CONFIG_=\nCONFIG_A=\"b=c\"\r\n")
	f.Add(strings.Repeat("x", 70<<10))
	f.Fuzz(func(t *testing.T, text string) {
		config, err := parseConfig(strings.NewReader(text))
		must.True(t, (err == nil) != (len(config) == 0), "%v beside %d settings", err, len(config))
		for name, value := range config {
			must.True(t, strings.HasPrefix(name, "CONFIG_") && strings.Contains(text, name+"="+value), "%q is %q, which the text lacks", name, value)
		}
	})
}
