package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/triton/ttir"
)

// launchFile is the name of a launch in its folder.
const launchFile = "launch.json"

// save writes a launch before it runs, into a folder of its own.
func (r *Run) save(l *Launch, number int) (string, error) {
	if err := os.MkdirAll(r.Save, 0o777); err != nil {
		return "", fmt.Errorf("--save: %w", err)
	}
	folder := filepath.Join(r.Save, fmt.Sprintf("%d-%s", number, fileName(l.Kernel.Name)))
	for n := 2; ; n++ { // another process of the program, or an earlier run, may have the name
		err := os.Mkdir(folder, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("--save: %w", err)
		}
		folder = filepath.Join(r.Save, fmt.Sprintf("%d-%s.%d", number, fileName(l.Kernel.Name), n))
	}
	l.Version, l.TTIR, l.Name, l.CTAs = 1, "kernel.ttir", l.Kernel.Name, l.Kernel.CTAs
	if err := os.WriteFile(filepath.Join(folder, l.TTIR), []byte(l.Kernel.Text), 0o666); err != nil {
		return "", fmt.Errorf("--save: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Buffers)) {
		b := l.Buffers[name]
		if !isType(b.Type) {
			b.Type = "" // which Read would refuse
		}
		b.File = fileName(name) + ".npy"
		if err := writeNPY(filepath.Join(folder, b.File), b.Type, b.Data()); err != nil {
			return "", fmt.Errorf("--save: %w", err)
		}
	}
	return folder, l.write(folder)
}

// isType says whether a text is a type of elements, or says nothing of them.
func isType(kind string) bool {
	return kind == "" || ttir.Parse("").Type(kind).Kind != ttir.OpaqueType
}

// saveAfter adds what the launch has left in its buffers.
func (l *Launch) saveAfter(folder string) error {
	for _, b := range l.Buffers {
		b.After = digest(b.Data())
	}
	return l.write(folder)
}

func (l *Launch) write(folder string) error {
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, launchFile), append(text, '\n'), 0o666); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fileName makes a name of a kernel or an argument the name of a file.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 100)]
}

// Read reads a launch from a folder that --save has written, or from the launch.json in it.
func Read(path string) (*Launch, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, launchFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the launch: %w; give a folder that proton interpret --save wrote", err)
	}
	l := &Launch{}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("read the launch %s: %w", path, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // a misspelt fill would be zeros; after Unmarshal, whose errors say more of the other faults
	if err := d.Decode(&Launch{}); err != nil && l.Version == 1 {
		return nil, fmt.Errorf("read the launch %s: %w", path, err)
	}
	if err := l.open(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("read the launch %s: %w", path, err)
	}
	return l, nil
}

func (l *Launch) open(folder string) error {
	if l.Version != 1 {
		return fmt.Errorf("its version is %d, and this proton reads version 1", l.Version)
	}
	text, err := os.ReadFile(filepath.Join(folder, l.TTIR))
	if err != nil {
		return err
	}
	if l.Kernel, err = NewKernel(l.Name, string(text)); err != nil {
		return fmt.Errorf("%s: %w", l.TTIR, err)
	}
	l.Kernel.CTAs = l.CTAs
	for _, name := range slices.Sorted(maps.Keys(l.Buffers)) {
		b := l.Buffers[name]
		if b == nil {
			return fmt.Errorf("the buffer %s is null", name)
		}
		data, err := b.contents(folder)
		if err != nil {
			return fmt.Errorf("the buffer %s: %w", name, err)
		}
		if !isType(b.Type) {
			return fmt.Errorf("the buffer %s: its type is %q, which is none of TTIR's: use one as f32, bf16 or i64", name, b.Type)
		}
		opened := NewBuffer(name, b.Address, data)
		b.Name, b.Bytes, b.memory = name, opened.Bytes, opened.memory
		l.List = append(l.List, b)
	}
	return l.bind()
}
