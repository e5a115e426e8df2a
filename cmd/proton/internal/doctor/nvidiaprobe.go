package doctor

import (
	"errors"
	"os"
)

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
