package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// program is where the image has it.
const program = "/tare"

// Repository is the name of the images that this program makes of itself. A tag is
// the beginning of the program's content hash, the id of the run that uses it and
// the machine that leads it: the tag is a run's hold on the image, which is there
// once.
const Repository = "tare"

// labelContent holds the hash of the program in an image.
const labelContent = "io.tare.content"

// partImage is what an image is to its run.
const partImage = "image"

// images remembers what Image has found, so that it looks once.
type images struct {
	mu sync.Mutex
	id map[string]string // by run
}

func (i *images) forget(run string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.id, run)
}

// Image is the id of an image with this program in it, held for a run. Nothing is
// pulled: where the engine has none yet with the same content, it is imported.
func (e *Engine) Image(ctx context.Context, run string) (string, error) {
	e.images.mu.Lock()
	defer e.images.mu.Unlock()
	if id := e.images.id[run]; id != "" {
		return id, nil
	}
	path, err := e.executable()
	if err != nil {
		return "", fmt.Errorf("make an image for engine %s: %w", e.Name, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("make an image for engine %s: %w", e.Name, err)
	}
	defer file.Close()
	id, err := e.image(ctx, run, file)
	if err != nil {
		return "", err
	}
	if e.images.id == nil {
		e.images.id = map[string]string{}
	}
	e.images.id[run] = id
	return id, nil
}

func (e *Engine) image(ctx context.Context, run string, file *os.File) (string, error) {
	hash, err := content(file)
	if err != nil {
		return "", fmt.Errorf("make an image for engine %s: read %s: %w", e.Name, file.Name(), err)
	}
	tag := tagOf(hash, run)
	found, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelContent+"="+hash)})
	if err != nil {
		return "", e.fail(err, "look for the image of this program")
	}
	for _, i := range found.Items {
		// Another run may be about to remove it; then it is imported after all.
		if _, err := e.api.ImageTag(ctx, client.ImageTagOptions{Source: i.ID, Target: Repository + ":" + tag}); err == nil {
			return i.ID, nil
		}
	}
	return e.load(ctx, run, tag, hash, file)
}

func (e *Engine) load(ctx context.Context, run, tag, hash string, file *os.File) (string, error) {
	tar, err := archive(file)
	if err != nil {
		return "", fmt.Errorf("make an image for engine %s: read %s: %w", e.Name, file.Name(), err)
	}
	stop := context.AfterFunc(ctx, func() { tar.Close() })
	defer stop()
	defer tar.Close()
	// The tag stands in the name: Podman passes over the option of that name.
	reply, err := e.api.ImageImport(ctx, client.ImageImportSource{Source: tar, SourceName: "-"}, Repository+":"+tag, client.ImageImportOptions{
		Message:  "tare, imported from the running program",
		Platform: ocispec.Platform{OS: e.Versions.OS, Architecture: e.Versions.Arch},
		Changes: []string{
			"ENTRYPOINT [\"" + program + "\"]",
			label(LabelRun, run), label(LabelPart, partImage), label(labelContent, hash),
			label("org.opencontainers.image.title", "tare"),
			label("org.opencontainers.image.description", "tare weighs container networks; this image is the program alone"),
		},
	})
	if err != nil {
		return "", e.fail(err, "import the image of this program")
	}
	defer reply.Close()
	text, err := io.ReadAll(reply)
	if err != nil {
		return "", e.fail(err, "import the image of this program")
	}
	if _, refused, ok := strings.Cut(string(text), `"error":"`); ok {
		refused, _, _ = strings.Cut(refused, `"`)
		return "", fmt.Errorf("engine %s: import the image of this program: %s", e.Name, refused)
	}
	got, err := e.api.ImageInspect(ctx, Repository+":"+tag)
	if err != nil {
		return "", e.fail(err, "look at the image of this program")
	}
	return got.ID, nil
}

// tagOf is a run's tag on the image with that content.
func tagOf(hash, run string) string { return hash[:12] + "-" + machineID() + "-" + run }

// holder is the run of this machine that holds the image with that content by a tag.
func holder(name, hash string) (run string, ok bool) {
	_, tag, ok := strings.Cut(name, Repository+":")
	if !ok || len(hash) < 12 {
		return "", false
	}
	run, ok = strings.CutPrefix(tag, tagOf(hash, ""))
	if !ok || run == "" {
		return "", false
	}
	return run, true
}

func label(name, value string) string { return fmt.Sprintf("LABEL %s=%q", name, value) }
