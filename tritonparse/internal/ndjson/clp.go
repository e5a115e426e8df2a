package ndjson

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/settings"
)

// CLPArchives are the CLP archives that source names: itself, or those in it. Archives are files or folders.
func CLPArchives(source string) []string {
	source = filepath.Clean(source)
	if filepath.Ext(source) == ".clp" {
		return []string{source}
	}
	entries, err := os.ReadDir(source)
	if err != nil {
		return nil
	}
	var archives []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".clp" {
			archives = append(archives, filepath.Join(source, e.Name()))
		}
	}
	return archives
}

// errNoCLP says what to do where clp-s is missing.
var errNoCLP = errors.New("is a CLP archive, and clp-s is not installed: pip install yscope-clp-core brings it; " +
	"or convert the archive (clp-s x --ordered ARCHIVE DIR) and name DIR")

// ExtractCLP unpacks archives with clp-s into a folder, each as the trace that it was made of, and returns the traces.
func ExtractCLP(archives []string, folder string) ([]string, error) {
	program := FindCLP()
	var traces []string
	for i, a := range archives {
		if program == "" {
			return nil, fmt.Errorf("%s %w", a, errNoCLP)
		}
		to := filepath.Join(folder, fmt.Sprint(i))
		cmd := exec.Command(program, "x", "--ordered", a, to)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: clp-s: %w: %s", a, err, strings.TrimSpace(string(out)))
		}
		trace := filepath.Join(folder, strings.TrimSuffix(filepath.Base(a), ".clp")+".ndjson")
		if err := concatenate(to, trace); err != nil {
			return nil, err
		}
		traces = append(traces, trace)
	}
	return traces, nil
}

// concatenate puts the files of a folder behind each other: ordered archives are extracted in pieces, named in order.
func concatenate(folder, to string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		if _, err := out.ReadFrom(in); err != nil {
			return err
		}
		return os.Remove(path)
	})
	return errors.Join(err, out.Close())
}

// FindCLP looks for clp-s in PATH and in the package yscope-clp-core of an installed Python; "" if there is none.
func FindCLP() string {
	if path, err := exec.LookPath("clp-s"); err == nil {
		return path
	}
	return settings.InPackages("yscope_clp_core", "bin", "clp-s")
}
