package cupti

import "fmt"

// metricsOf are the metrics of a set on a kind of GPU.
func metricsOf(set, chip string) ([]string, error) {
	if set != "roofline" {
		return nil, fmt.Errorf("no set %q", set)
	}
	return []string{"dram__bytes_read.sum", "dram__bytes_write.sum", measuredTime}, nil
}
