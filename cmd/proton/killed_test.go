package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"github.com/goproton/goproton/tritonparse/record"
)

// killed is a command of the stories: a program that is traced into the folder that it is given, and killed after its second
// launch. It writes to the ring as hooks/tracering.c does.
func killed() {
	log, err := record.Begin(record.Options{Folder: os.Args[1], Compression: "zstd"}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stack := log.Define([]byte("/p/train.py:1@<module>"))
	template := log.Define([]byte(`{"name":"add_kernel","hash":"ab","metadata":{"hash":"ab","name":"add_kernel"},"args":["n"]}`))
	const header, written, arguments = 4096, 16, 1
	ring, position := log.Memory(), 0
	for n := range uint64(2) {
		kind := []byte{'G', 1, 8, 'i', byte(2 * (n + 1))} // a grid of 4, and n
		entry := []byte{1}
		entry = binary.LittleEndian.AppendUint64(entry, 1_800_000_000_000_000_000+n)
		entry = append(binary.LittleEndian.AppendUint64(entry, 0x1234), arguments)
		entry = binary.AppendUvarint(binary.AppendUvarint(entry, stack), template)
		entry = binary.AppendUvarint(append(entry, byte(n+1), 0, 0), uint64(len(kind))) // stream and device 0
		entry = append(entry, kind...)
		binary.LittleEndian.PutUint32(ring[header+position:], uint32(len(entry)))
		copy(ring[header+position+4:], entry)
		position = (position + 4 + len(entry) + 7) / 8 * 8
	}
	binary.LittleEndian.PutUint64(ring[written:], uint64(position))
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
