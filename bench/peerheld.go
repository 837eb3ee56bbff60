package main

import (
	"errors"
	"fmt"
	"math"
)

// rateSlack is how far a generator may be off the rate it was asked for and still
// be compared at it.
const rateSlack = 0.05

// offRateError is a generator that did not hold a fixed rate.
type offRateError struct {
	name, unit  string
	made, asked float64
}

func (e *offRateError) Error() string {
	return fmt.Sprintf("%s made %.4g %s where %.4g were asked", e.name, e.made, e.unit, e.asked)
}

// holds is nil when a generator held the rate.
func holds(name string, made, asked float64, unit string) error {
	if math.Abs(made/asked-1) > rateSlack {
		return &offRateError{name, unit, made, asked}
	}
	return nil
}

// notCompared says in place of a row that a rate could not be held, which must
// not end the section. Any other error is given back.
func notCompared(err error, name string, at placed) error {
	var off *offRateError
	if !errors.As(err, &off) {
		return err
	}
	fmt.Printf("| %s | %s | not compared: %v, %d times in turn |\n", name, at.name, off, tries)
	return nil
}
