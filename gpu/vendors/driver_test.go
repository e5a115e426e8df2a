package vendors

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestOfAgainstTheDriver: 4,332 kernels, and what cuOccupancyMaxActiveBlocksPerMultiprocessor says on an H200; ask_driver.py in testdata asks.
func TestOfAgainstTheDriver(t *testing.T) {
	f, err := os.Open("testdata/driver.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		var k launchNeeds
		var blocks int
		if _, err := fmt.Sscanf(in.Text(), "%d,%d,%d,%d,%d", &k.SM, &k.Threads, &k.Registers, &k.Shared, &blocks); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		rows++
		check(t, k, blocks)
	}
	if rows < 1000 {
		t.Errorf("only %d kernels were asked for", rows)
	}
}
