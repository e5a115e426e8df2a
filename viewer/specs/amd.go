package specs

// amdFlops8 is the dense matrix rate per clock and compute unit for 8 bit operands.
var amdFlops8 = map[string]float64{
	// AMD Instinct MI250X datasheet: 220 CUs, 1700 MHz, 383 TOPS INT8. There is no FP8; INT8 stands in.
	"gfx90a": 1024,
	// AMD Instinct MI300X datasheet: 304 CUs, 2100 MHz, 2614.9 TFLOPS FP8. gfx940 and gfx941 were early
	// steppings of the MI300A and MI300X with the same units (AMD CDNA 3 whitepaper).
	"gfx940": 4096,
	"gfx941": 4096,
	"gfx942": 4096,
	// AMD Instinct MI355X datasheet: 256 CUs, 2400 MHz, 5033 TFLOPS FP8 dense.
	"gfx950": 8192,
}

// amdBandwidth is the peak of the whole package in byte/s.
var amdBandwidth = map[string]float64{
	"gfx90a": 3.2e12, // AMD Instinct MI250X datasheet: 3.2 TB/s
	"gfx940": 5.3e12, // AMD Instinct MI300A datasheet: 5.3 TB/s
	"gfx941": 5.3e12, // AMD Instinct MI300X datasheet: 5.3 TB/s
	"gfx942": 5.3e12,
	"gfx950": 8.0e12, // AMD Instinct MI355X datasheet: 8 TB/s
}
