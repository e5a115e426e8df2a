package foreign

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMayShow(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"k.py", "id_rsa", "settings.json"} {
		if err := os.WriteFile(at(name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.py": "k.py", "key.py": "id_rsa", "folder.py": ".", "gone.py": "nowhere.py"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"k.py": true, "link.py": true, "gone.py": true, "nothing.cu": true, "id_rsa": false, "settings.json": false, "key.py": false, "folder.py": false, "": false,
	} {
		if got := MayShow(at(name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
