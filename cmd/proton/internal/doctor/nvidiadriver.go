package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/runinfo"
)

// Driver is the NVIDIA driver: the kernel's half and the library's.
type Driver struct {
	Version     string `json:"version,omitempty"` // of the kernel module, "580.95.05"
	CUDAVersion int    `json:"cuda_version"`      // newest CUDA it can run, 13000; 0 = not known
	Guessed     bool   `json:"guessed,omitempty"` // CUDAVersion is concluded from Version
}

// GPU is one device.
type GPU struct {
	Index int    `json:"index"`
	Name  string `json:"name"`
	Arch  string `json:"arch,omitempty"` // "90"
	SMs   int    `json:"sms,omitempty"`
}

var moduleVersion = regexp.MustCompile(`\s(\d{3,}\.\d+(?:\.\d+)?)\s`)

// examineDriver looks for the kernel module first and then asks libcuda, since each can be there without the
// other: in containers the library is missing, after an upgrade the module is the old one.
func (r *Report) examineDriver(m Machine) {
	text, _ := m.read("/proc/driver/nvidia/version") // which is not there under WSL
	if found := moduleVersion.FindStringSubmatch(text); found != nil {
		r.Driver.Version = found[1]
	}
	wsl := m.exists("/dev/dxg")
	if !wsl && !m.exists("/dev/nvidiactl") {
		r.found("driver", Problem, fmt.Sprintf("driver %s is loaded, but there is no /dev/nvidiactl here", r.Driver.Version), "start the container with --gpus all; on a bare machine run nvidia-modprobe")
		return
	}
	if !wsl && !m.writable("/dev/nvidiactl") {
		r.found("driver", Problem, "/dev/nvidiactl cannot be opened", "add your user to the group that owns it (see ls -l /dev/nvidiactl)")
		return
	}
	r.askDriver(m)
}

func (r *Report) askDriver(m Machine) {
	answer, err := m.probe("")
	switch {
	case err != nil:
		r.Driver.CUDAVersion, r.Driver.Guessed = cudaOfDriver(r.Driver.Version), true
		r.found("driver", Warning, fmt.Sprintf("driver %s; libcuda was not examined: %v", orUnknown(r.Driver.Version), err), runinfo.Install+": both have proton-probe")
	case !answer.Driver.Loaded:
		r.found("driver", Problem, fmt.Sprintf("driver %s is loaded, but %s", r.Driver.Version, answer.Driver.Error), "install the driver's user libraries; in a container, set NVIDIA_DRIVER_CAPABILITIES=compute,utility")
	case answer.Driver.Init != 0:
		r.Driver.CUDAVersion = answer.Driver.CUDAVersion
		r.found("driver", Problem, fmt.Sprintf("cuInit failed with %s (%d)", answer.Driver.Error, answer.Driver.Init), initFix(answer.Driver.Init, m))
	default:
		r.Driver.CUDAVersion = answer.Driver.CUDAVersion
		r.GPUs = append(r.GPUs, answer.Driver.Devices...)
		r.found("driver", OK, fmt.Sprintf("driver %s, CUDA %s", orUnknown(r.Driver.Version), cudaName(r.Driver.CUDAVersion)), "")
	}
}

// initFix knows the errors of cuInit that people meet.
func initFix(code int, m Machine) string {
	switch code {
	case 100:
		if v := m.Env("CUDA_VISIBLE_DEVICES"); v != "" {
			return "CUDA_VISIBLE_DEVICES=" + v + " hides every GPU: unset it"
		}
		return "no GPU is visible: look at nvidia-smi and CUDA_VISIBLE_DEVICES"
	case 803, 804:
		return "the kernel module and libcuda are of different versions: reboot, or reload the module"
	case 802:
		return "start the fabric manager: systemctl start nvidia-fabricmanager"
	}
	return "look at nvidia-smi and dmesg"
}

func (r *Report) examineGPUs(m Machine) {
	if len(r.GPUs) == 0 {
		r.GPUs = gpusOfKernel(m)
	}
	switch n := len(r.GPUs); {
	case n == 0 && r.Driver.Version == "":
		return // said already: there is no driver
	case n == 0:
		r.found("GPUs", Problem, "the driver shows no GPU", "look at nvidia-smi and CUDA_VISIBLE_DEVICES")
	default:
		r.found("GPUs", OK, gpuText(r.GPUs), "")
	}
}

// gpusOfKernel reads what the kernel module says, for machines whose libcuda could not be asked.
func gpusOfKernel(m Machine) []GPU {
	gpus := []GPU{}
	for i, path := range m.glob("/proc/driver/nvidia/gpus/*/information") {
		text, err := m.read(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if name, found := strings.CutPrefix(line, "Model:"); found {
				gpus = append(gpus, GPU{Index: i, Name: strings.TrimSpace(name)})
			}
		}
	}
	return gpus
}

// gpuText lists devices, those of one kind together: "8 × NVIDIA H200 (sm_90, 132 SMs)".
func gpuText(gpus []GPU) string {
	var texts []string
	for _, g := range gpus {
		text := g.Name
		if g.Arch != "" {
			text += fmt.Sprintf(" (sm_%s, %d SMs)", g.Arch, g.SMs)
		}
		texts = append(texts, text)
	}
	return counted(texts)
}

// counted lists each text once, with how often it is there.
func counted(texts []string) string {
	var kinds []string
	counts := map[string]int{}
	for _, text := range texts {
		if counts[text]++; counts[text] == 1 {
			kinds = append(kinds, text)
		}
	}
	for i, text := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", counts[text], text)
	}
	return strings.Join(kinds, ", ")
}

// cudaOfDriver concludes the CUDA version from the driver's branch, as the release notes pair them.
func cudaOfDriver(version string) int {
	branch, _ := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	for _, pair := range [][2]int{
		{580, 13000}, {575, 12090}, {570, 12080}, {565, 12070}, {560, 12060}, {555, 12050}, {550, 12040}, {545, 12030},
		{535, 12020}, {530, 12010}, {525, 12000}, {520, 11080}, {515, 11070}, {510, 11060}, {470, 11040}, {450, 11000},
	} {
		if branch >= pair[0] {
			return pair[1]
		}
	}
	return 0
}

func cudaName(version int) string {
	if version == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d", version/1000, version%1000/10)
}

func orUnknown(version string) string { return cmp.Or(version, "of unknown version") }

// probeAnswer is what proton-probe prints.
type probeAnswer struct {
	Driver struct {
		Loaded      bool   `json:"loaded"`
		Error       string `json:"error"`
		CUDAVersion int    `json:"cuda_version"`
		Init        int    `json:"init"`
		Devices     []GPU  `json:"devices"`
	} `json:"driver"`
	CUPTI struct {
		Loaded    bool   `json:"loaded"`
		Error     string `json:"error"`
		Version   int    `json:"version"`
		Subscribe int    `json:"subscribe"`
		Several   int    `json:"several"` // 0: one subscriber, 1 and 2: several may exist, -1: it does not say
	} `json:"cupti"`
}

// probe asks the driver, and one libcupti if a path is given, in a process of their own.
func (m Machine) probe(library string) (probeAnswer, error) {
	if m.Probe == "" {
		return probeAnswer{}, errors.New("proton-probe is not next to the proton command")
	}
	var args []string
	if library != "" {
		args = []string{library}
	}
	var answer probeAnswer
	err := m.askJSON(&answer, withoutOurselves(os.Environ()), m.Probe, args...)
	return answer, err
}
