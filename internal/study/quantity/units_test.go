package quantity_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// TestUnits shows what is read and how it is written.
func TestUnits(t *testing.T) {
	type unit interface {
		UnmarshalText([]byte) error
		String() string
	}
	duration := func(d time.Duration) *quantity.Duration { return new(quantity.Duration(d)) }
	size := func(n quantity.Size) *quantity.Size { return &n }
	buffer := func(n quantity.BufferSize) *quantity.BufferSize { return &n }
	rate := func(n quantity.Rate) *quantity.Rate { return &n }
	for _, c := range []struct {
		text  string
		want  unit
		shown string
	}{
		{"1.5s", duration(1500 * time.Millisecond), "1.5s"},
		{"300ms", duration(300 * time.Millisecond), "300ms"},
		{"60s", duration(time.Minute), "1m"},
		{"90m", duration(90 * time.Minute), "1h30m"},
		{"1h0m10s", duration(time.Hour + 10*time.Second), "1h0m10s"},
		{"10µs", duration(10 * time.Microsecond), "10µs"},
		{"10us", duration(10 * time.Microsecond), "10µs"},
		{"0", duration(0), "0s"},
		{"0s", duration(0), "0s"},
		{"0h0m", duration(0), "0s"},
		{"0s", &quantity.Wait{Given: true}, "0s"},
		{"1.5s", &quantity.Wait{For: quantity.Duration(1500 * time.Millisecond), Given: true}, "1.5s"},
		{"1400", size(1400), "1400"},
		{"1024", size(1024), "1KiB"},
		{"128KiB", size(128 << 10), "128KiB"},
		{"2MiB", size(2 << 20), "2MiB"},
		{"1536MiB", size(1536 << 20), "1536MiB"},
		{"3GiB", size(3 << 30), "3GiB"},
		{"0", size(0), "0"},
		{"auto", buffer(quantity.AutoBuffer()), "auto"},
		{"64KiB", buffer(quantity.Buffer(64 << 10)), "64KiB"},
		{"1Gbit/s", rate(1e9), "1Gbit/s"},
		{"1gbit", rate(1e9), "1Gbit/s"},
		{"1.1Gbit/s", rate(1_100_000_000), "1100Mbit/s"},
		{"500Mbit/s", rate(500e6), "500Mbit/s"},
		{"500mBIT/S", rate(500e6), "500Mbit/s"},
		{"1.5Gbps", rate(1.5e9), "1500Mbit/s"},
		{"8bps", rate(8), "8bit/s"},
		{"64kbit/s", rate(64e3), "64kbit/s"},
		{"123456789", rate(123456789), "123456789bit/s"},
		{"123456789bit/s", rate(123456789), "123456789bit/s"},
		{"0", rate(0), "0bit/s"},
	} {
		parsed := reflect.New(reflect.TypeOf(c.want).Elem()).Interface().(unit)
		if err := parsed.UnmarshalText([]byte(c.text)); err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		must.EqualFor(t, c.text, c.want, parsed)
		shown := parsed.String()
		must.True(t, shown == c.shown, "%q is written %q, want %q", c.text, shown, c.shown)
	}
}

func TestBadUnits(t *testing.T) {
	const (
		duration = " is not a duration; write a number and a unit, such as 1.5s or 300ms"
		size     = " is not a size; write bytes, or a whole number with KiB, MiB or GiB"
		rate     = " is not a rate; write it as 1Gbit/s, 500Mbit/s or plain bit/s"
	)
	for _, c := range []struct {
		unit interface{ UnmarshalText([]byte) error }
		text string
		want string
	}{
		{new(quantity.Duration), "", `""` + duration},
		{new(quantity.Duration), "5", `"5"` + duration},
		{new(quantity.Duration), "-5s", `"-5s"` + duration},
		{new(quantity.Duration), "+5s", `"+5s"` + duration},
		{new(quantity.Duration), "1 s", `"1 s"` + duration},
		{new(quantity.Duration), "1d", `"1d"` + duration},
		{new(quantity.Duration), ".5s", `".5s"` + duration},
		{new(quantity.Duration), "1e3s", `"1e3s"` + duration},
		{new(quantity.Duration), "9999999999999999999999h", `"9999999999999999999999h"` + duration},
		{new(quantity.Size), "", `""` + size},
		{new(quantity.Size), "KiB", `"KiB"` + size},
		{new(quantity.Size), "-1", `"-1"` + size},
		{new(quantity.Size), "010", `"010"` + size},
		{new(quantity.Size), "0x10", `"0x10"` + size},
		{new(quantity.Size), "1.5KiB", `"1.5KiB"` + size},
		{new(quantity.Size), "1K", `"1K"` + size},
		{new(quantity.Size), "1kib", `"1kib"` + size},
		{new(quantity.Size), "9223372036854775808", `"9223372036854775808"` + size},
		{new(quantity.Size), "9007199254740992GiB", `"9007199254740992GiB"` + size},
		{new(quantity.BufferSize), "Auto", `"Auto"` + size + ", or auto"},
		{new(quantity.Rate), "", `""` + rate},
		{new(quantity.Rate), "-1", `"-1"` + rate},
		{new(quantity.Rate), "fast", `"fast"` + rate},
		{new(quantity.Rate), "1 Gbit/s", `"1 Gbit/s"` + rate},
		{new(quantity.Rate), "1GBps", `"1GBps"` + rate},
		{new(quantity.Rate), "1GB/s", `"1GB/s"` + rate},
		{new(quantity.Rate), "1Tbit/s", `"1Tbit/s"` + rate},
		{new(quantity.Rate), "0.5", `"0.5"` + rate},
		{new(quantity.Rate), "1e9", `"1e9"` + rate},
		{new(quantity.Rate), "99999999999Gbit/s", `"99999999999Gbit/s"` + rate},
	} {
		got := "no error"
		if err := c.unit.UnmarshalText([]byte(c.text)); err != nil {
			got = err.Error()
		}
		must.EqualFor(t, c.unit, c.want, got)
	}
}

// FuzzUnits holds that what a unit's text means is what its String says.
func FuzzUnits(f *testing.F) {
	for _, text := range []string{"0", "1400", "128KiB", "auto", "1.5s", "1m30s", "2h", "100ms", "1Gbit/s", "1.5gbit", "1e3", "-1", "9223372036854775807", "unlimited", "off", "once", "0.02", "1e-5", "NaN", "-0", "1e400", "18446744073709551615", "\x1b[31m"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, unit := range []struct {
			a, b interface {
				UnmarshalText([]byte) error
				String() string
			}
		}{
			{new(quantity.Duration), new(quantity.Duration)},
			{new(quantity.Wait), new(quantity.Wait)},
			{new(quantity.Size), new(quantity.Size)},
			{new(quantity.BufferSize), new(quantity.BufferSize)},
			{new(quantity.Rate), new(quantity.Rate)},
			{new(quantity.Load), new(quantity.Load)},
			{new(quantity.PassRate), new(quantity.PassRate)},
			{new(quantity.Share), new(quantity.Share)},
			{new(quantity.Portion), new(quantity.Portion)},
			{new(study.Recreate), new(study.Recreate)},
		} {
			if err := unit.a.UnmarshalText([]byte(text)); err != nil {
				must.True(t, !strings.ContainsAny(err.Error(), "\n\r\x1b") && len(err.Error()) <= 500, "%q: the error is %q", text, err)
				continue
			}
			must.Do(must.Named(t, fmt.Sprintf("%q is written %q", text, unit.a)), unit.b.UnmarshalText([]byte(unit.a.String())))
			must.EqualFor(t, fmt.Sprintf("%q", text), unit.a, unit.b)
		}
	})
}
