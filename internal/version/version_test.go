package version_test

import (
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/version"
)

func TestOrder(t *testing.T) {
	const old, same, newer = "older", "same", "newer"
	for text, want := range map[string]string{
		"4.3.1": old, "3.9": old, "4.3": old, "04.03": old, "0.0~git20230309": old,
		"4.4": same, "4.4.0": same, "4.4-rc1": same, "004.4+deb12": same,
		"4.10.0-dev": newer, "5.0.0": newer, "4.5": newer, "99999999999999999999.1": newer, "6.12.95+deb12-cloud-amd64": newer,
		"": "unknown", "x.y": "unknown", "4": "unknown", "4.": "unknown", ".4": "unknown", "-4.5": "unknown", "+4.5": "unknown", " 4.5": "unknown", "v4.5": "unknown", "4.x": "unknown", "4 .5": "unknown",
	} {
		got := "unknown"
		switch older, least, before := version.Older(text, "4.4"), version.AtLeast(text, "4.4"), version.Older("4.4", text); {
		case older && !least && !before:
			got = old
		case least && !older && !before:
			got = same
		case least && !older:
			got = newer
		case older || before:
			got = "contradictory"
		}
		must.EqualFor(t, text, want, got)
		must.EqualFor(t, text+" known", want != "unknown", version.Known(text))
		must.True(t, version.AtLeast("4.4", text) == (want == old || want == same), "4.4 beside %q", text)
	}
}

func TestTested(t *testing.T) {
	tested := version.Tested{Oldest: "4.3", Between: " to ", Newest: "5.8"}
	for text, want := range map[string]string{"5.8.3": "", "4.0": "", "": "", "unknown": "", "5.9-dev": " (Podman 5.9-dev is newer than those that were tested, 4.3 to 5.8)", "6.0": " (Podman 6.0 is newer than those that were tested, 4.3 to 5.8)"} {
		must.EqualFor(t, text, want, tested.Beyond("Podman", text))
	}
}
