package study

import "tare/internal/study/quantity"

// LargestResponse is the size of the largest response, 0 if the workload sets none.
func (w Workload) LargestResponse() quantity.Size {
	largest := w.ResponseSize
	all, _ := quantity.ParseMix(w.ResponseMix) // none without a mix
	for _, m := range all {
		largest = max(largest, m.Size)
	}
	return largest
}

// mixed checks a mix of sizes, which replaces the one size.
func (v *validator) mixed(prefix string, w Workload) {
	if w.ResponseMix == "" || !v.readable(prefix+"response_mix") {
		return
	}
	if w.ResponseSize > 0 {
		v.add(prefix+"response_mix", "response_mix and response_size both set the size of responses; remove one of them")
	}
	if _, err := quantity.ParseMix(w.ResponseMix); err != nil {
		v.add(prefix+"response_mix", "response_mix is %q: %v", w.ResponseMix, err)
	}
}
