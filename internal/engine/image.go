package engine

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Program is where the image has this program.
const Program = "/tare"

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
			"ENTRYPOINT [\"" + Program + "\"]",
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

// imageOwner is the run of this machine that holds the image with that content by a tag.
func imageOwner(name, hash string) (run string, ok bool) {
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

// layout changes whenever the same program makes another image.
const layout = "tare image 1\n"

// content is the hash of what an image of the program holds.
func content(binary io.ReadSeeker) (string, error) {
	h := sha256.New()
	h.Write([]byte(layout))
	if _, err := binary.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.Copy(h, binary); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// archive streams the file system of an image: the Program, and a place for what
// external generators write. Closing it early ends the stream.
func archive(file *os.File) (io.ReadCloser, error) {
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(tar.NewWriter(w), file, st.Size())) }()
	return r, nil
}

func pack(t *tar.Writer, binary io.Reader, size int64) error {
	// The same times for the same content, whenever it is packed.
	at := time.Unix(0, 0)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, ModTime: at}); err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(Program, "/"), Mode: 0o755, Size: size, ModTime: at}); err != nil {
		return err
	}
	if _, err := io.CopyN(t, binary, size); err != nil {
		return err
	}
	return t.Close()
}
