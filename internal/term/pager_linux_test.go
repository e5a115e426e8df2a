package term

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal of that many columns. What is written to user comes out at screen.
func terminal(t *testing.T, columns uint16) (user, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("needs pseudo terminals:", err)
	}
	t.Cleanup(func() { screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	user, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("needs pseudo terminals:", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return user, screen
}

// shown reads what came out up to the mark.
func shown(t *testing.T, screen *os.File, mark string) string {
	t.Helper()
	var all []byte
	for buffer := make([]byte, 1024); !strings.Contains(string(all), mark); {
		n, err := screen.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, all)
		}
		all = append(all, buffer[:n]...)
	}
	return strings.ReplaceAll(string(all), "\r\n", "\n")
}

func lookup(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := pairs[name]; return v, ok }
}

func hello(w io.Writer) error { _, err := io.WriteString(w, "one\ntwo\nend\n"); return err }

func TestPager(t *testing.T) {
	for _, test := range []struct {
		pager  string
		wanted bool
		want   string
	}{
		{"sed s/^/page:/", true, "page:one\npage:two\npage:end\n"},
		{"sed s/^/page:/", false, "one\ntwo\nend\n"},
		{"cat", true, "one\ntwo\nend\n"},
		{" ", true, "one\ntwo\nend\n"},
		{`printf '%s:' "$LESS"; cat`, true, "FRX:one\ntwo\nend\n"},
	} {
		user, screen := terminal(t, 80)
		if err := Paged(user, test.wanted, lookup(map[string]string{"PAGER": test.pager}), hello); err != nil {
			t.Errorf("PAGER=%q: %v", test.pager, err)
		}
		if got := shown(t, screen, "end\r\n"); got != test.want && !strings.HasPrefix(got, test.want) {
			t.Errorf("PAGER=%q, wanted %v: %q came out, want %q", test.pager, test.wanted, got, test.want)
		}
	}
}

func TestPagerIsForTerminalsOnly(t *testing.T) {
	var out bytes.Buffer
	if err := Paged(&out, true, lookup(map[string]string{"PAGER": "sed s/^/page:/"}), hello); err != nil || out.String() != "one\ntwo\nend\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// A reader who has seen enough leaves; an error of the print function is returned.
func TestPagerThatLeavesEarlyAndErrors(t *testing.T) {
	user, _ := terminal(t, 80)
	many := func(w io.Writer) error {
		for range 1 << 16 {
			if err := hello(w); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
		return nil
	}
	if err := Paged(user, true, lookup(map[string]string{"PAGER": "true"}), many); err != nil {
		t.Errorf("a pager that leaves early: %v", err)
	}
	broken := errors.New("broken")
	if err := Paged(user, true, lookup(map[string]string{"PAGER": "true"}), func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestWidth(t *testing.T) {
	user, _ := terminal(t, 77)
	if got := Width(user); got != 77 {
		t.Errorf("a terminal of 77 columns has %d", got)
	}
	if got := Width(&bytes.Buffer{}); got != 0 {
		t.Errorf("a buffer has %d columns", got)
	}
}
