package chrometrace

import (
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
)

// appendMicros writes nanoseconds as microseconds, exactly: 30200 is written as 30.2.
func appendMicros(b []byte, ns uint64) []byte {
	b = strconv.AppendUint(b, ns/1000, 10)
	hundreds, tens, ones := byte('0'+ns/100%10), byte('0'+ns/10%10), byte('0'+ns%10)
	switch {
	case ones != '0':
		return append(b, '.', hundreds, tens, ones)
	case tens != '0':
		return append(b, '.', hundreds, tens)
	case hundreds != '0':
		return append(b, '.', hundreds)
	}
	return b
}

func appendValue(b []byte, v profile.Value) []byte {
	switch v.Type() {
	case profile.Int:
		return strconv.AppendInt(b, v.Int(), 10)
	case profile.Float:
		f, _ := v.Float()
		return jsontext.AppendFloatOrNull(b, f)
	case profile.String:
		return jsontext.AppendString(b, v.Str())
	case profile.Ints:
		return appendList(b, v.Ints(), func(b []byte, i int64) []byte { return strconv.AppendInt(b, i, 10) })
	default:
		return appendList(b, v.Floats(), jsontext.AppendFloatOrNull)
	}
}

func appendList[E any](b []byte, list []E, one func([]byte, E) []byte) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, e)
	}
	return append(b, ']')
}
