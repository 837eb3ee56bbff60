package cli

import (
	"context"
	"sync"

	"tare/internal/driver"
)

// atOnce is how many modes are tried at a time: one that starts engines takes a
// second or two, most of it waiting.
const atOnce = 4

// probe tries every mode that there is and gives the answers in the order of the
// registry's modes.
func (a App) probe(ctx context.Context) []error {
	modes := a.Drivers.Modes()
	answers := make([]error, len(modes))
	free := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, m := range modes {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			d, _, err := a.Drivers.For(m.ID)
			if err == nil {
				err = d.Probe(ctx, driver.Order{Mode: m.ID})
			}
			answers[i] = err
		})
	}
	wg.Wait()
	return answers
}
