package cubin

import (
	"debug/elf"
	"fmt"
)

// Symbols returns where the functions of a module stand in its symbol table, by name. It is a part of what Read tells, and
// much cheaper.
func Symbols(image []byte) (map[string]uint32, error) {
	e, err := elf.NewFile(patched(image))
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	symbols, err := e.Symbols()
	if err != nil {
		return nil, fmt.Errorf("read cubin: its symbols: %w", err)
	}
	functions := make(map[string]uint32)
	for i, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			functions[s.Name] = uint32(i + 1) // Symbols leaves out the first, which is empty
		}
	}
	return functions, nil
}
