package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"tare/internal/process"
)

// A frame of the output of a process in a container is the number of its stream, three zeros, the
// length of what follows in big-endian order, and that (Engine API, "Attach to a container").
const (
	frameHeader = 8
	streamOut   = 1
	streamError = 2
	streamFails = 3 // the engine's own error, which ends the output
)

// separate copies the streams of a process's output until its end. It passes on what arrives,
// because the length in a frame is the engine's claim: allocating it could take 4 GiB.
func separate(out, words io.Writer, from io.Reader) error {
	header, buffer := make([]byte, frameHeader), make([]byte, 32<<10)
	for {
		if _, err := io.ReadFull(from, header); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a frame: %w", err)
		}
		var problem process.Tail
		to := out
		switch header[0] {
		case 0, streamOut:
		case streamError:
			to = words
		case streamFails:
			to = &problem
		default:
			return fmt.Errorf("unknown stream %d in its output", header[0])
		}
		size := int64(binary.BigEndian.Uint32(header[4:]))
		n, err := io.CopyBuffer(to, io.LimitReader(from, size), buffer)
		switch {
		case err != nil:
			return fmt.Errorf("pass on a frame of %d bytes: %w", size, err)
		case n < size:
			return fmt.Errorf("read a frame of %d bytes: %w", size, io.ErrUnexpectedEOF)
		case header[0] == streamFails:
			return fmt.Errorf("the engine ended its output: %s", problem.String())
		}
	}
}
