package interpreter

import (
	"encoding/binary"
	"unsafe"
)

// asInMemory says whether numbers of this machine lie in memory as those of a kernel do, so that they are copied as bytes.
var asInMemory = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// wordsOf returns bytes as numbers of 16 bits, if they lie in memory as those of this machine; nil if not.
func wordsOf(raw []byte) []uint16 {
	if !asInMemory || len(raw) < 2 {
		return nil
	}
	return unsafe.Slice((*uint16)(unsafe.Pointer(&raw[0])), len(raw)/2)
}

// copied is a codec of numbers that are copied as they are; on a machine with another order of bytes it is otherwise.
func copied[T int16 | int32 | int64 | float32 | float64](otherwise codec[T]) codec[T] {
	if !asInMemory {
		return otherwise
	}
	raw := func(list []T) []byte {
		if len(list) == 0 {
			return nil
		}
		return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*otherwise.size)
	}
	return codec[T]{otherwise.size, func(to []T, from []byte) { copy(raw(to), from) }, func(to []byte, from []T) { copy(to, raw(from)) }}
}

// bytesOfBits is a list of bits as bytes, for the functions of package bytes.
func bytesOfBits(list []bit) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list))
}
