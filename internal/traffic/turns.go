package traffic

// CanSlice reports whether the built-in generator can drive a workload in slices,
// in turns with other trials.
func CanSlice(kind string, reverse bool) bool {
	w, err := Named(kind)
	if err != nil {
		return false
	}
	_, sliced := w.(Sliced)
	return sliced && (!reverse || !w.Spec().ReverseWhole)
}
