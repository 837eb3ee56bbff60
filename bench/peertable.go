package main

import (
	"fmt"
	"slices"
)

// column takes one figure of each.
func column[T any](all []T, take func(T) float64) []float64 {
	vs := make([]float64, len(all))
	for i, v := range all {
		vs[i] = take(v)
	}
	return vs
}

// spread is a median with its range.
func spread(vs []float64) string {
	return fmt.Sprintf("%.4g (%.4g-%.4g)", median(vs), slices.Min(vs), slices.Max(vs))
}
