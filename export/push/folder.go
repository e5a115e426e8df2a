package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
)

// folder is a target on a file system, of a shared disk or of an object store that is mounted, instead of a server. Each window is written as a
// file of its own, at the path of FileName, so that a window that is written twice counts once.
type folder struct {
	path string
	busy chan struct{} // of capacity 1: a write to a mount that does not answer may never end, so only one write waits at a time
}

// newFolder reads a URL like file:///mnt/windows; nil for any other.
func newFolder(given, protocol string) (*folder, error) {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "file" {
		return nil, nil //nolint:nilerr // the reader of servers' URLs says what is wrong
	}
	switch {
	case protocol != "":
		return nil, fmt.Errorf("a protocol is for servers, and %s is a folder: leave the protocol out", given)
	case u.Host != "" || !path.IsAbs(u.Path) || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("the folder to push to is %q: give an absolute path, as in file:///mnt/windows", given)
	}
	return &folder{filepath.FromSlash(path.Clean(u.Path)), make(chan struct{}, 1)}, nil
}

// write puts a window into the folder. The folder itself is not made: where the mount is away, windows would fill another disk.
func (f *folder) write(ctx context.Context, name string, window []byte) (answer, int) {
	select {
	case f.busy <- struct{}{}:
	default:
		return answer{outcome: later, why: "the folder has not answered to an earlier write yet"}, 0
	}
	packed := pack(window)
	done := make(chan error, 1)
	go func() {
		defer func() { <-f.busy }()
		done <- f.put(name, packed)
	}()
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	select {
	case err := <-done:
		if err != nil {
			return answer{outcome: later, why: foreign.Plain(err.Error(), mostReason)}, 0
		}
		return answer{}, len(packed)
	case <-ctx.Done():
		return answer{outcome: later, why: fmt.Sprintf("the folder did not answer within %v", requestPatience)}, 0
	}
}

// Away says why nothing can be written to the folder now; "" if no reason is known. Nothing is known of a server before the
// first window.
func (t *Target) Away() string {
	if t.folder == nil {
		return ""
	}
	found := make(chan error, 1)
	go func() { found <- t.folder.there() }() // a mount that does not answer blocks it
	select {
	case err := <-found:
		if err != nil {
			return err.Error()
		}
	case <-time.After(time.Second):
		return "the folder does not answer"
	}
	return ""
}

func (f *folder) there() error {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return errors.New("there is no such folder: make it, or mount it")
	}
	return nil
}

func (f *folder) put(name string, packed []byte) error {
	if err := f.there(); err != nil {
		return err
	}
	at := filepath.Join(f.path, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return err
	}
	return ownfile.Replace(at, func(w io.Writer) error {
		_, err := w.Write(packed)
		return err
	})
}

// pack compresses a window.
func pack(window []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // of options, which are ours
	}
	defer w.Close()
	return w.EncodeAll(window, nil)
}

const (
	hourLayout = "2006-01-02T15"
	fileSuffix = ".hatchet_msgpack.zst"
)

// FileName is the path of a window below the folder that it is pushed to. Its parts are made for readers that want a few of very
// many windows and cannot ask an object store for more than a listing: hour in UTC and host, then begin, end, process, number
// and rank. name is what the spool calls the window.
//
//	2026-11-23T10/node7/1795428000000000000-1795428060000000000-4711-3.node7.r12.hatchet_msgpack.zst
func FileName(name string, info profile.Info) string {
	begin, _ := strconv.ParseInt(info[profile.InfoStart], 10, 64) //nolint:errcheck // 0: the window is in the first hour of 1970
	begin = max(begin, 0)
	host := cmp.Or(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, info[profile.InfoHost]), "unknown")
	rank := ""
	if n, err := strconv.ParseUint(info[profile.InfoRank], 10, 31); err == nil {
		rank = fmt.Sprint(".r", n)
	}
	hour := time.Unix(0, begin).UTC().Format(hourLayout)
	return fmt.Sprintf("%s/%.100s/%019d-%s.%.100s%s%s", hour, host, begin, name, host, rank, fileSuffix)
}

// FileFacts is what the name of a window's file says of it.
type FileFacts struct {
	Begin, End time.Time
	Rank       string // "" without one
}

var fileName = regexp.MustCompile(`^(\d{19})-(\d{19})-\d+-\d+\.[A-Za-z0-9_-]+(?:\.r(\d+))?` + regexp.QuoteMeta(fileSuffix) + `$`)

// ReadFileName reads the last part of what FileName returns; ok is false for any other name.
func ReadFileName(base string) (f FileFacts, ok bool) {
	m := fileName.FindStringSubmatch(base)
	if m == nil {
		return f, false
	}
	begin, err := strconv.ParseInt(m[1], 10, 64)
	end, wrong := strconv.ParseInt(m[2], 10, 64)
	return FileFacts{time.Unix(0, begin), time.Unix(0, end), m[3]}, err == nil && wrong == nil
}

// ReadHour reads the name of a folder of FileName: the windows in it begin in the hour from then on.
func ReadHour(base string) (time.Time, bool) {
	t, err := time.Parse(hourLayout, base)
	return t, err == nil && t.Format(hourLayout) == base
}
