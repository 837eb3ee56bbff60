package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// An archive is a run's directory as text, for a program whose output is all that is kept of it, as
// that of a pod: a PEM block with a gzipped tar of what was measured, without reports. Its header
// has the checksum of the content. Other lines may be before it, behind it and, where two streams
// were merged, in it.
const (
	archiveType = "TARE RUN"
	checksum    = "SHA-256"
)

const (
	// MaxArchive is the maximum size of an archive's content, in bytes: as text it has 4/3 of that,
	// and a node keeps 10 MiB of a pod's output.
	MaxArchive = 7 << 20
	// maxUnpacked is the maximum size of all its files, in bytes.
	maxUnpacked = 64 << 20
	// maxText is how much text is searched for an archive.
	maxText = 256 << 20
)

// ErrNoArchive means that a text contains no archive.
var ErrNoArchive = errors.New("it contains no run")

// archived lists the files of an archive.
func archived() []string { return []string{StudyFile, RunFile, SessionsFile, TrialsFile} }

// WriteArchive writes the directory as an archive. It fails if that would be larger than MaxArchive.
func (d *Dir) WriteArchive(to io.Writer) error {
	var packed bytes.Buffer
	if err := d.pack(&packed); err != nil {
		return fmt.Errorf("pack run %s: %w", d.Path(), err)
	}
	if packed.Len() > MaxArchive {
		return fmt.Errorf("pack run %s: %w: it has %d bytes, more than the maximum of %d", d.Path(), errTooLarge, packed.Len(), MaxArchive)
	}
	sum := sha256.Sum256(packed.Bytes())
	return pem.Encode(to, &pem.Block{Type: archiveType, Headers: map[string]string{checksum: hex.EncodeToString(sum[:])}, Bytes: packed.Bytes()})
}

func (d *Dir) pack(to io.Writer) error {
	z, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range archived() {
		data, err := d.read(name, maxUnpacked)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// Archive is the files of a run that an archive contains.
type Archive map[string][]byte

// ReadArchive reads the first archive in a text, which may be from anybody. Errors: ErrNoArchive; it
// is cut, changed or too large.
func ReadArchive(from io.Reader) (Archive, error) {
	packed, err := findArchive(from)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the run: %w", err)
	}
	out, left := Archive{}, int64(maxUnpacked)
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && len(out[RunFile])+len(out[TrialsFile]) == 0 {
			return nil, errors.New("unpack the run: it has no trial and no result")
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("unpack the run: %w", err)
		}
		if h.Typeflag != tar.TypeReg || !slices.Contains(archived(), h.Name) {
			return nil, fmt.Errorf("unpack the run: it contains %q, which is no file of a run", h.Name)
		}
		data, err := io.ReadAll(io.LimitReader(t, left+1))
		if err != nil {
			return nil, fmt.Errorf("unpack the run: %s: %w", h.Name, err)
		}
		if left -= int64(len(data)); left < 0 {
			return nil, fmt.Errorf("unpack the run: %w: its files have more than %d bytes", errTooLarge, maxUnpacked)
		}
		out[h.Name] = data
	}
}

// findArchive returns the content of the first archive in a text.
func findArchive(from io.Reader) ([]byte, error) {
	begin, end := "-----BEGIN "+archiveType+"-----", "-----END "+archiveType+"-----"
	in := bufio.NewScanner(io.LimitReader(from, maxText))
	in.Buffer(nil, 1<<20)
	var text bytes.Buffer
	sum, inside := "", false
	for in.Scan() {
		line := strings.TrimRight(in.Text(), "\r")
		name, value, header := strings.Cut(line, ": ")
		switch {
		case line == begin:
			text.Reset()
			sum, inside = "", true
		case !inside:
		case line == end:
			return decodeArchive(text.Bytes(), sum)
		case header && name == checksum:
			sum = value
		case isBase64(line) && text.Len() <= 2*MaxArchive:
			text.WriteString(line)
		}
	}
	switch {
	case in.Err() != nil:
		return nil, fmt.Errorf("read the run: %w", in.Err())
	case inside:
		return nil, errors.New("read the run: it is cut: its last line is missing")
	}
	return nil, ErrNoArchive
}

// isBase64 reports whether a line is a part of an archive, and none of another stream.
func isBase64(line string) bool {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	return line != "" && len(line) <= 64 && strings.Trim(line, alphabet) == ""
}

func decodeArchive(text []byte, sum string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(string(text))
	if err == nil && len(packed) > MaxArchive {
		err = errTooLarge
	}
	if err == nil {
		if got := sha256.Sum256(packed); hex.EncodeToString(got[:]) != sum {
			err = errors.New("its checksum is wrong")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the run: %w; lines are missing, or belong to another output", err)
	}
	return packed, nil
}

// Unpack writes the files of an archive into the directory of a run that was just created.
func (d *Dir) Unpack(a Archive) error {
	for _, name := range archived() {
		data, ok := a[name]
		if !ok {
			continue
		}
		write := d.write
		if name == TrialsFile {
			write = func(_ string, data []byte) error {
				_, err := d.trials.Write(data)
				return err
			}
		}
		if err := write(name, data); err != nil {
			return fmt.Errorf("unpack the run into %s: %w", d.Path(), err)
		}
	}
	return nil
}
