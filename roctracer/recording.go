package roctracer

// #include <stdlib.h>
// #include "record.h"
import "C"

import "github.com/goproton/goproton/hotpath/recorder"

// recordAs has what the libraries report recorded, if there is a recording.
func recordAs(backend string) {
	if api := recorder.API(); api != nil {
		C.room_record_with((*C.struct_recorder_api)(api), C.CString(backend)) // the name is kept
	}
}
