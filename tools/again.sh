# Scripts that download source again.sh. pip, npm and apt connect again by themselves; this is for what breaks off later.

# again COMMAND...: runs a download, and once more if it fails. After two failures the network may be gone: the script's later
# downloads are tried once.
again() {
  if "$@"; then return; fi
  if [ -n "${no_network-}" ]; then return 1; fi
  sleep 2
  if "$@"; then return; fi
  no_network=1
  return 1
}
