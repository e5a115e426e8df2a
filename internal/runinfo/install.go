package runinfo

// Install is what to do about a missing part. An archive with the viewer alone has the command without the other parts.
const Install = "install GoProton with pip (an archive has the viewer alone), or run make build in a checkout"
