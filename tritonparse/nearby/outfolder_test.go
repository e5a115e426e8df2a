package nearby

import (
	"io"
	"os"
	"testing"
)

// TestAbandon ends the writing while a file is half written, and then lets it go on.
func TestAbandon(t *testing.T) {
	path := t.TempDir()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.WriteText("a/whole", 0o666, []byte("x")); err != nil {
		t.Fatal(err)
	}
	err = f.Write("a/half", 0o666, func(w io.Writer) error {
		if names(t, path+"/a") != 2 {
			t.Error("the half of a file is elsewhere")
		}
		continued := Abandon()
		defer continued()
		if names(t, path+"/a") != 1 {
			t.Error("the half of a file is left")
		}
		return nil
	})
	if err == nil || names(t, path+"/a") != 1 {
		t.Errorf("error %v, %d files", err, names(t, path+"/a"))
	}
}

func names(t *testing.T, folder string) int {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
