package report

import (
	"fmt"
	"os"
	"strconv"
)

// PROTON_SLOW_PAGES=SEED makes every page as slow as on a machine that is busy with something else: frames, timers and
// the data's decompression come up to half a second late. A test that reads what comes a frame later, and does not
// wait for it, then fails. Without the delay such a test failed only on busy machines.
//
// What a browser promises stays: the callbacks of one frame run together and in their order, observers of sizes after
// them, and the frame is drawn afterwards.
const slowScript = `(() => {
	let seed = %d;
	const late = () => (seed = (seed * 1103515245 + 12345) %% 2147483648) / 2147483648 * 500;
	const frame = window.requestAnimationFrame.bind(window), timer = window.setTimeout.bind(window);
	let callbacks = [], sizes = [], asked = false;
	const ask = () => {
		if (asked) return;
		asked = true;
		timer(() => frame((now) => {
			asked = false;
			const due = callbacks, resized = sizes;
			callbacks = [], sizes = [];
			for (const f of due) f(now);
			for (const f of resized) f();
		}), late());
	};
	window.requestAnimationFrame = (f) => { callbacks.push(f); ask(); return callbacks.length; };
	window.setTimeout = (f, ms, ...rest) => timer(f, (ms ?? 0) + late(), ...rest);
	const Real = window.ResizeObserver;
	window.ResizeObserver = class extends Real {
		constructor(f) { super((entries, self) => { sizes.push(() => f(entries, self)); ask(); }); }
	};
	const whole = Response.prototype.arrayBuffer;
	Response.prototype.arrayBuffer = function () { return new Promise((ok) => timer(ok, late())).then(() => whole.call(this)); };
})();`

// slowly is that script, or nothing.
func slowly() string {
	seed, err := strconv.Atoi(os.Getenv("PROTON_SLOW_PAGES"))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(slowScript, seed)
}
