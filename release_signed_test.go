package tare_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const releaseWorkflow = ".github/workflows/release.yaml"

// workflow is the part of a workflow that these tests read.
type workflow struct {
	On          struct{ Push struct{ Tags []string } }
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			Uses, Run, If string
			With          map[string]any
		}
	}
}

func readWorkflow(t *testing.T) workflow {
	t.Helper()
	text, err := os.ReadFile(releaseWorkflow)
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// A release signs its checksums, which cover every other file, and its image, without a key; a trial
// signs nothing. This is the form only: the signature itself needs the release's identity.
func TestReleaseIsSigned(t *testing.T) {
	r := readRecipe(t)
	want := []signature{{Artifacts: "checksum", Cmd: "cosign", Signature: "${artifact}.sigstore.json", Args: []string{"sign-blob", "--yes", "--bundle=${signature}", "${artifact}"}}}
	if diff := cmp.Diff(want, r.Signs); diff != "" {
		t.Errorf("signatures (-want +got):\n%s", diff)
	}
	if len(r.ImageSigns) != 1 || r.ImageSigns[0].Cmd != "cosign" || !slices.Contains(r.ImageSigns[0].Args, "${artifact}@${digest}") {
		t.Errorf("the image is signed by %+v, and not by its digest", r.ImageSigns)
	}
	if r.Checksum.Algorithm != "sha256" {
		t.Errorf("the checksums are %s", r.Checksum.Algorithm)
	}
	trial, err := os.ReadFile("scripts/dist")
	if err != nil || !strings.Contains(string(trial), "skip=(sign)") || !strings.Contains(string(trial), "--skip=") {
		t.Errorf("scripts/dist would sign a trial (%v)", err)
	}
}

// The workflow runs for tags only, with no more rights than it needs, checks for vulnerabilities
// before it builds, uses only actions pinned by commit, and states the provenance of every kind of
// file that the recipe makes, after it is made.
func TestReleaseWorkflow(t *testing.T) {
	w := readWorkflow(t)
	if diff := cmp.Diff([]string{"v*"}, w.On.Push.Tags); diff != "" || len(w.Permissions) != 0 {
		t.Errorf("it runs for %v with %v", w.On.Push.Tags, w.Permissions)
	}
	job := w.Jobs["release"]
	if diff := cmp.Diff(map[string]string{"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"}, job.Permissions); diff != "" || len(w.Jobs) != 1 {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	order := map[string]int{}
	for i, s := range job.Steps {
		if s.Uses != "" && !pinned.MatchString(s.Uses) {
			t.Errorf("%s is not pinned by commit", s.Uses)
		}
		name, _, _ := strings.Cut(s.Uses, "@")
		order[name+s.Run] = i + 1
	}
	for _, pair := range [][2]string{
		{"make vuln", "bin/goreleaser release --clean"}, {"scripts/setup-dist", "bin/goreleaser release --clean"},
		{"sigstore/cosign-installer", "bin/goreleaser release --clean"}, {"bin/goreleaser release --clean", "actions/attest-build-provenance"},
	} {
		if a, b := order[pair[0]], order[pair[1]]; a == 0 || b == 0 || a > b {
			t.Errorf("%q is step %d and %q step %d", pair[0], a, pair[1], b)
		}
	}
	attest := job.Steps[order["actions/attest-build-provenance"]-1]
	subjects, _ := attest.With["subject-path"].(string)
	for _, file := range []string{"tare_1_linux_amd64.tar.gz", "tare_1_windows_amd64.zip", "tare_1_linux_amd64.deb", "tare_1_linux_amd64.rpm", "tare_1_linux_amd64.sbom.json", "tare_1_checksums.txt"} {
		if !slices.ContainsFunc(strings.Fields(subjects), func(pattern string) bool {
			ok, err := filepath.Match(pattern, "dist/"+file)
			return ok && err == nil
		}) {
			t.Errorf("the provenance does not cover %s", file)
		}
	}
}

// docs/install.md tells how to verify a release with the identity and the names that the recipe
// has.
func TestVerificationIsDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cosign verify-blob --bundle tare_VERSION_checksums.txt.sigstore.json", releaseWorkflow + "@refs/tags/vVERSION",
		"--certificate-oidc-issuer https://token.actions.githubusercontent.com", "sha256sum -c --ignore-missing tare_VERSION_checksums.txt", "gh attestation verify",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/install.md lacks %q", want)
		}
	}
}
