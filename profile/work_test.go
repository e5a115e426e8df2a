package profile

import "testing"

func TestWorkOf(t *testing.T) {
	for name, want := range map[string]Work{
		"<memcpy HtoD>": LinkedCopy, "<memcpy DtoH>": LinkedCopy, "<memcpy PtoP>": LinkedCopy, "<memcpy>": LinkedCopy,
		"<memcpy DtoD>": LocalCopy, "<memcpy AtoD>": LocalCopy, "<memset>": Fill, "<sync stream>": HostWaiting,
		"Memcpy HtoD (Pageable -> Device)": LinkedCopy, "Memcpy DtoD (Device -> Device)": LocalCopy, "Memset (Device)": Fill,
		"memcpy_kernel": KernelWork, "Memory pool": KernelWork, "memset": KernelWork, "<captured_at>": KernelWork, "": KernelWork,
	} {
		if got := WorkOf(name); got != want {
			t.Errorf("%q is work of kind %d, want %d", name, got, want)
		}
	}
}
