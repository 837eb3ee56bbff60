package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/engine/private"
	"tare/internal/lab"
)

// enginesAlone times two private engines, side by side, without a mode on them.
func enginesAlone(ctx context.Context, spec lab.Spec) error {
	var up, down []float64
	for range standRepeats {
		l, err := lab.Up(spec)
		if err != nil {
			return err
		}
		began := time.Now()
		a, b, err := private.StartBoth(ctx, l)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		up = append(up, millis(began))
		began = time.Now()
		if err := errors.Join(private.CloseAll(a, b), l.Close()); err != nil {
			return err
		}
		down = append(down, millis(began))
	}
	fmt.Printf("| two engines and nothing else | %s | | %s |\n", middle(up), middle(down))
	return nil
}
