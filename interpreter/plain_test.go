//go:build unix

package interpreter

import (
	"math"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// BenchmarkPlain does the work of BenchmarkLaunch's kernels in plain loops over slices, for comparison.
func BenchmarkPlain(b *testing.B) {
	floats := func(n int) []float32 {
		list := make([]float32, n)
		codecF32(ttir.F32).get(list, floatsFor(n, 4))
		return list
	}
	halves := func(n int) []uint16 { return wordsOf(floatsFor(n, 2)) }
	half := func(x float32) uint16 { return halfPattern(narrows[ttir.F16].nearest(x)) }
	for _, c := range []struct {
		name string
		make func() func()
	}{
		{"add_1M", func() func() {
			x, y, z := floats(1<<20), floats(1<<20), make([]float32, 1<<20)
			return func() { addAll(z, x, y) }
		}},
		{"softmax_1823x781", func() func() {
			x, z := floats(1823*781), make([]float32, 1823*781)
			return func() {
				for at := 0; at < len(x); at += 781 {
					row, to := x[at:at+781], z[at:at+781]
					most, sum := float32(math.Inf(-1)), float32(0)
					for _, v := range row {
						most = max(most, v)
					}
					for i, v := range row {
						to[i] = v - most
					}
					exponentials(to, to, math.Log2E)
					for _, v := range to {
						sum += v
					}
					for i := range to {
						to[i] /= sum
					}
				}
			}
		}},
		{"matmul_512_f16", func() func() {
			const n = 512
			a, b, z := halves(n*n), halves(n*n), make([]uint16, n*n)
			x, y, o := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
			return func() {
				for i := range a {
					x[i], y[i] = halfValue(a[i]), halfValue(b[i])
				}
				clear(o)
				plainProducts(o, x, y, n, n)
				for i, v := range o {
					z[i] = half(v)
				}
			}
		}},
		{"norm_1151x8192_f16", func() func() {
			const n = 8192
			x, z, w, row := halves(1151*n), make([]uint16, 1151*n), halves(n), make([]float32, n)
			return func() {
				for at := 0; at < len(x); at += n {
					sum, squares := float32(0), float32(0)
					for i, h := range x[at : at+n] {
						row[i] = halfValue(h)
						sum += row[i]
					}
					mean := sum / n
					for _, v := range row {
						squares += (v - mean) * (v - mean)
					}
					by := float32(1 / math.Sqrt(float64(squares/n)+1e-5))
					for i, v := range row {
						z[at+i] = half((v - mean) * by * halfValue(w[i]))
					}
				}
			}
		}},
		{"attention_4x512x64_f16", func() func() { return plainAttention(halves(4*512*64), halves(4*512*64), halves(4*512*64), half) }},
		{"scan_8x1024", func() func() {
			x, y, z := floats(8*1024), floats(8*1024), make([]float32, 8*1024)
			return func() {
				h := float32(0)
				for i := range x {
					if i%1024 == 0 {
						h = 0
					}
					h = x[i]*h + y[i]
					z[i] = h
				}
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			run, before := c.make(), processor()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(processor()-before)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// plainAttention computes tiles of 64 rows and 32 columns, up to the diagonal.
func plainAttention(q, k, v []uint16, half func(x float32) uint16) func() {
	const n, d, rows, columns = 512, 64, 64, 32
	o := make([]uint16, len(q))
	x, y, w, s, acc := make([]float32, rows*d), make([]float32, d*columns), make([]float32, columns*d), make([]float32, rows*columns), make([]float32, rows*d)
	most, total := make([]float32, rows), make([]float32, rows)
	return func() {
		for head := 0; head < len(q); head += n * d {
			for p := 0; p < n; p += rows {
				readHalves(x, rawOf(q[head+p*d:head+(p+rows)*d]))
				clear(acc)
				clear(total)
				fillOf(most, float32(math.Inf(-1)))
				for c := 0; c < p+rows; c += columns {
					for j := range columns {
						for e := range d {
							y[e*columns+j] = halfValue(k[head+(c+j)*d+e])
						}
					}
					readHalves(w, rawOf(v[head+c*d:head+(c+columns)*d]))
					clear(s)
					plainProducts(s, x, y, columns, d)
					for i := range rows {
						row, now := s[i*columns:(i+1)*columns], most[i]
						for j := range row {
							if row[j] *= 0.18; p+i < c+j {
								row[j] = -1e6
							}
							now = max(now, row[j])
						}
						by, sum := float32(math.Exp2(float64(most[i]-now))), float32(0)
						for j := range row {
							row[j] -= now
						}
						exponentials(row, row, 1)
						for _, e := range row {
							sum += e
						}
						total[i], most[i] = total[i]*by+sum, now
						for e := range d {
							acc[i*d+e] *= by
						}
					}
					plainProducts(acc, s, w, d, columns)
				}
				for i, e := range acc {
					o[head+p*d+i] = half(e / total[i/d])
				}
			}
		}
	}
}

func rawOf(words []uint16) []byte {
	raw := make([]byte, 2*len(words))
	for i, w := range words {
		little.PutUint16(raw[2*i:], w)
	}
	return raw
}

// plainProducts adds the products of m rows of x and of y in the order of k, two rows of o and four of y at a time.
func plainProducts(o, x, y []float32, n, k int) {
	for i := 0; i < len(o)/n; i += 2 {
		p, q := o[i*n:(i+1)*n], o[(i+1)*n:(i+2)*n]
		for j := 0; j < k; j += 4 {
			a, b := x[i*k+j:][:4], x[(i+1)*k+j:][:4]
			y0 := y[j*n:][:n]
			y1, y2, y3, p, q := y[(j+1)*n:][:len(y0)], y[(j+2)*n:][:len(y0)], y[(j+3)*n:][:len(y0)], p[:len(y0)], q[:len(y0)]
			a0, a1, a2, a3, b0, b1, b2, b3 := a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]
			for c, v := range y0 {
				p[c] = float32(float32(float32(p[c]+float32(a0*v))+float32(a1*y1[c]))+float32(a2*y2[c])) + float32(a3*y3[c])
				q[c] = float32(float32(float32(q[c]+float32(b0*v))+float32(b1*y1[c]))+float32(b2*y2[c])) + float32(b3*y3[c])
			}
		}
	}
}
