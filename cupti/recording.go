package cupti

// wrapForRecording puts the recorder between CUPTI and us when PROTON_RECORD asks for it.
func wrapForRecording() {}
