// Command picture records tare on a terminal as SVG: a frame of the live view and the
// table at the end. scripts/pictures-terminal runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/creack/pty"

	"tare/internal/testkit/screen"
)

func main() {
	tare := flag.String("tare", "bin/tare", "binary to run")
	into := flag.String("into", "docs/pictures", "output directory")
	width := flag.Int("width", 80, "columns of the terminal")
	height := flag.Int("height", 30, "lines of the terminal")
	flag.Parse()
	if err := pictures(context.Background(), *tare, *into, *width, *height, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// pictures runs tare on a pseudo-terminal and writes what is displayed.
func pictures(ctx context.Context, tare, into string, width, height int, args []string) error {
	cmd := exec.CommandContext(ctx, tare, append([]string{"run"}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	end, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)})
	if err != nil {
		return fmt.Errorf("run %s on a terminal: %w", tare, err)
	}
	defer end.Close()
	s := screen.New(width, height)
	var frame [][]screen.Cell
	b := make([]byte, 64<<10)
	for {
		n, err := end.Read(b)
		_, _ = s.Write(b[:n])
		if worthShowing(s) {
			frame = copied(s.Rows())
		}
		if err != nil {
			break // the other end of the terminal is closed: the run has ended
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s run %s: %w\n%s", tare, strings.Join(args, " "), err, s)
	}
	if frame == nil {
		return errors.New("the run was too short: no frame had ratios and rates")
	}
	return errors.Join(
		write(filepath.Join(into, "live.svg"), svg(frame, "tare run in progress: the matrix of modes, and the rates of the running trial")),
		write(filepath.Join(into, "table.svg"), svg(table(s), "the table that tare run prints at the end")),
	)
}

// worthShowing reports whether a frame is complete, with ratios and with rates over some
// time.
func worthShowing(s *screen.Screen) bool {
	rates := 0
	for _, r := range s.Rows() {
		for _, c := range r {
			if strings.ContainsAny(c.Text, "▂▃▄▅▆▇█") {
				rates++
			}
		}
	}
	x, _ := s.Cursor()
	return !s.Hidden && x == 0 && rates >= 12 && strings.Contains(s.String(), "ratios are provisional")
}

func copied(rows [][]screen.Cell) [][]screen.Cell {
	out := make([][]screen.Cell, len(rows))
	for i, r := range rows {
		out[i] = slices.Clone(r)
	}
	return out
}

// table is the output up to the warnings and the machine.
func table(s *screen.Screen) [][]screen.Cell {
	rows := s.All()
	for i, r := range rows {
		if strings.HasPrefix(text(r), "Trials:") {
			return rows[:i+1]
		}
	}
	return rows
}

func write(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", file, len(content))
	return nil
}
