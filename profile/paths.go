package profile

// Paths keeps call paths once, as numbers: a path is the path above it and its last frame, so that the paths of N slices within each
// other take memory for N frames, not for N². Path 0 is the root's. The zero value is ready to use.
type Paths struct {
	next   map[pathStep]int32
	frames []pathStep // of path 1 and on
}

type pathStep struct {
	above int32
	name  string
}

// Below returns the path of a frame below another path, the same for equal paths.
func (p *Paths) Below(above int32, name string) int32 {
	step := pathStep{above, name}
	path, known := p.next[step]
	if !known {
		if p.next == nil {
			p.next = map[pathStep]int32{}
		}
		p.frames = append(p.frames, step)
		path = int32(len(p.frames))
		p.next[step] = path
	}
	return path
}

// Len is the number of paths, the root's included. A path has a larger number than the path above it.
func (p *Paths) Len() int { return len(p.frames) + 1 }

// Above returns the path without its last frame; the root's of the root's.
func (p *Paths) Above(path int32) int32 {
	if path == 0 {
		return 0
	}
	return p.frames[path-1].above
}

// Name returns the last frame of a path; "ROOT" of the root's.
func (p *Paths) Name(path int32) string {
	if path == 0 {
		return rootName
	}
	return p.frames[path-1].name
}

// Frames writes a path out, from the frame below the root to its last; nil for the root's.
func (p *Paths) Frames(path int32) []string {
	depth := 0
	for at := path; at != 0; at = p.Above(at) {
		depth++
	}
	if depth == 0 {
		return nil
	}
	frames := make([]string, depth)
	for at := path; at != 0; at = p.Above(at) {
		depth--
		frames[depth] = p.Name(at)
	}
	return frames
}
