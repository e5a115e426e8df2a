package vendors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine makes a file system: "path" is a file, "path -> target" a link.
func machine(t *testing.T, files ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		path, target, link := strings.Cut(file, " -> ")
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const site = "/venv/lib/python3.11/site-packages"

func describe(root string, candidates []Candidate) string {
	var b strings.Builder
	for _, c := range candidates {
		fmt.Fprintf(&b, "%s %d %s", c.Origin, c.Major, strings.TrimPrefix(c.Path, root))
		if c.Reason != "" {
			fmt.Fprintf(&b, " (%s)", c.Reason)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSearch(t *testing.T) {
	wheels := []string{
		site + "/nvidia/cu13/lib/libcupti.so.13",
		site + "/nvidia/cuda_cupti/lib/libcupti.so.12",
		site + "/triton/backends/nvidia/lib/cupti/libcupti.so",
		site + "/triton/backends/nvidia/lib/cupti/libcupti.so.12",
		site + "/triton/backends/nvidia/lib/cupti/libcupti.so.2025.1.1",
		site + "/triton/backends/nvidia/lib/cupti/libcupti_static.a",
		site + "/triton/backends/nvidia/lib/cupti-blackwell/libcupti.so.13",
	}
	toolkit := []string{
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so -> libcupti.so.12",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12 -> libcupti.so.2025.1.0",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2025.1.0",
		"/usr/lib/x86_64-linux-gnu/libcupti.so.11.8",
	}
	all := append(append([]string{}, wheels...), toolkit...)
	cases := []struct {
		name  string
		files []string
		env   map[string]string
		maps  string
		want  string
	}{
		{name: "nothing", want: ""},
		{name: "wheels and toolkit", files: all, want: `
Python wheel 13 /venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13
Python wheel 12 /venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12
bundled with Triton 12 /venv/lib/python3.11/site-packages/triton/backends/nvidia/lib/cupti/libcupti.so.12
bundled with Triton 13 /venv/lib/python3.11/site-packages/triton/backends/nvidia/lib/cupti-blackwell/libcupti.so.13
system 12 /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12
system 11 /usr/lib/x86_64-linux-gnu/libcupti.so.11.8
`},
		{name: "our variable first, as folder", files: all,
			env: map[string]string{"PROTON_CUPTI_PATH": site + "/triton/backends/nvidia/lib/cupti"}, want: `
PROTON_CUPTI_PATH 12 /venv/lib/python3.11/site-packages/triton/backends/nvidia/lib/cupti/libcupti.so.12
Python wheel 13 /venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13
Python wheel 12 /venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12
bundled with Triton 13 /venv/lib/python3.11/site-packages/triton/backends/nvidia/lib/cupti-blackwell/libcupti.so.13
system 12 /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12
system 11 /usr/lib/x86_64-linux-gnu/libcupti.so.11.8
`},
		{name: "our variable names nothing", env: map[string]string{"PROTON_CUPTI_PATH": "/gone"}, want: `
PROTON_CUPTI_PATH 0 /gone (there is no libcupti at this path)
`},
		{name: "Triton's variable and the loader's", files: append(toolkit, "/t/libcupti.so.12", "/l/libcupti.so.13"),
			env: map[string]string{"TRITON_CUPTI_LIB_PATH": "/t", "LD_LIBRARY_PATH": "/none:/l"}, want: `
TRITON_CUPTI_LIB_PATH 12 /t/libcupti.so.12
system 13 /l/libcupti.so.13
system 12 /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12
system 11 /usr/lib/x86_64-linux-gnu/libcupti.so.11.8
`},
		{name: "mapped through a link is the same file", files: toolkit,
			maps: "7f00-7f01 r-xp 0 08:01 1 %s/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2025.1.0\n" +
				"7f01-7f02 r--p 0 08:01 1 %s/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2025.1.0\n" +
				"7f03-7f04 r--p 0 00:00 0 \n7f04-7f05 r--p 0 08:01 2 /usr/lib/libc.so.6\n", want: `
already loaded 12 /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2025.1.0
system 11 /usr/lib/x86_64-linux-gnu/libcupti.so.11.8
`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := machine(t, c.files...)
			got := Search{
				Env:          func(name string) string { return c.env[name] },
				Maps:         strings.NewReader(strings.ReplaceAll(c.maps, "%s", root)),
				SitePackages: []string{site},
				Root:         root,
			}.Candidates()
			if got, want := describe(root, got), strings.TrimPrefix(c.want, "\n"); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	var (
		named  = Candidate{Path: "/named", Origin: FromProtonEnv, Major: 12}
		gone   = Candidate{Path: "/gone", Origin: FromProtonEnv, Reason: "there is no libcupti at this path"}
		loaded = Candidate{Path: "/loaded", Origin: FromProcess, Major: 13}
		wheel  = Candidate{Path: "/wheel", Origin: FromWheel, Major: 13}
		triton = Candidate{Path: "/triton", Origin: FromTriton, Major: 12}
		old    = Candidate{Path: "/old", Origin: FromSystem, Major: 11}
	)
	cases := []struct {
		name       string
		candidates []Candidate
		driver     int
		want       string
	}{
		{"named", []Candidate{named, loaded, wheel}, 13000, "/named: PROTON_CUPTI_PATH names it"},
		{"named and gone", []Candidate{gone, wheel}, 13000, "error: open PROTON_CUPTI_PATH=/gone: there is no libcupti at this path: unset it to search the usual places"},
		{"loaded, though of another version", []Candidate{loaded, triton}, 12080, "/loaded: the process has loaded it already"},
		{"the driver's version", []Candidate{wheel, triton, old}, 12080, "/triton: first that was made for CUDA 12, as the driver is"},
		{"older than the driver", []Candidate{old}, 12080, "/old: first that is not newer than the driver (CUDA 12.8); none is of the same major version"},
		{"first when the driver is not known", []Candidate{wheel, triton}, 0, "/wheel: first in the order of the search (the driver's version is not known)"},
		{"too new", []Candidate{wheel}, 12040, "error: every libcupti found is newer than the driver (CUDA 12.4) or unusable: pip install nvidia-cuda-cupti-cu12, or set PROTON_CUPTI_PATH to a libcupti.so of a CUDA toolkit"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			chosen, why, err := Choose(c.candidates, c.driver)
			got := chosen.Path + ": " + why
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if _, _, err := Choose(nil, 13000); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "pip install nvidia-cuda-cupti,") {
		t.Errorf("without candidates: %v", err)
	}
}

func TestMajorOfName(t *testing.T) {
	for name, want := range map[string]int{
		"libcupti.so.11.8": 11, "libcupti.so.12": 12, "libcupti.so.13": 13,
		"libcupti.so.2022.3.0": 11, "libcupti.so.2022.4.1": 12, "libcupti.so.2025.2.1": 12, "libcupti.so.2025.3.0": 13,
		"libcupti.so.2026.2.0": 13, "libcupti.so": 0, "libcupti_static.a": 0, "libcupti.so.13.bak": 0,
	} {
		if got := nameMajor(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}
