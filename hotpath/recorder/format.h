// The capture format, as its writer (this folder) and its player (../../replay/player) share it. docs/formats.md describes
// it field by field; package capture reads it in Go.
//
// A file is the magic and then events: {type u8, thread varint, length varint, payload}. An event is
// written when what it reports has finished, so the answers that a callback asked for stand before it and
// a player never has to look ahead. Numbers are LEB128 varints; a string is the number of an EV_STRING
// event, counted from 1, and 0 is none.
//
// Events from 1 to 15, and those from 32 on, are what a vendor's library reported; the vendor's room defines, writes and plays their payloads. The others are what the program did.
#ifndef GOPROTON_CAPTURE_FORMAT_H
#define GOPROTON_CAPTURE_FORMAT_H

#define CAPTURE_MAGIC "PROTNCAP\001"
enum { CAPTURE_MAGIC_SIZE = 9 };

#define FAKE_DRIVER "goproton_fake_driver"

enum capture_event {
  EV_STRING = 1,      // the bytes
  EV_INFO = 2,        // cupti version, driver version, library, unix seconds, machine
  EV_DEVICE = 3,      // ordinal, name, cc major, cc minor, SMs, clock, memory clock, bus width
  EV_CALLBACK = 4,    // domain, cbid, site, correlation, context, context uid, symbol, result, out, params, config
  EV_RESOURCE = 5,    // cbid, context, handle, shape, then by shape: module or graph fields
  EV_NVTX = 6,        // cbid, message
  EV_BUFFER = 7,      // stream id, buffer size, kinds {kind, record size, string fields}, the records
  EV_ANSWER = 8,      // function, handle, result, value
  EV_CUBIN = 9,       // hash, bytes
  EV_REASONS = 10,    // context, count, {index, name}: why a sampled warp may not go on
  EV_SAMPLES = 11,    // context, result, total, dropped, non-user, buffer full, count, {module, function, offset, name,
                      // correlation, count, {reason, samples}}
  EV_REQUEST = 12,    // AMD: kind, id of the call: the library asked for the id that the record of this work will carry
  EV_NODE = 13,       // AMD: number, whether it is a GPU, PCI domain, location, agent, its unique id, its SIMDs, its chip
  EV_VARIABLE = 14,   // AMD: name, value of a variable that hides GPUs
  EV_SYNTHETIC = 15,  // nothing: the driver is a fake, which exports FAKE_DRIVER
  EV_SCOPE_ENTER = 16, // name, node, generation
  EV_SCOPE_EXIT = 17, // node, generation
  EV_STATE_ENTER = 18, // name (0: no state)
  EV_STATE_EXIT = 19,
  EV_OP_ENTER = 20,   // name, function
  EV_OP_EXIT = 21,
  EV_METRIC = 22,     // name, type, value bits
  EV_METRIC_AT = 23,  // node, python node, set, name, type, value bits
  EV_LEAF = 24,       // node, python node, set
  EV_PYTHON = 25,     // count, frame names from the outermost in: the thread's call path from here on
  EV_CONTROL = 26,    // method, parameters (JSON)
  EV_TAG = 27,        // tag, function: the launch kind of the thread's next launch of it
  EV_TIME = 28,       // when the next event happened, in ns of CLOCK_REALTIME: since the last EV_TIME, the first since 1970
  EV_WRITER = 29,     // the bytes: name and version of the program that recorded; of thread 0, which is none
  EV_INSIDE = 30,     // kernel (JSON), grid x, y, z, blocks of a cluster, device, stream, correlation, then the slots: scopes inside of a launch
  EV_COUNTERS = 32,   // a launch that was measured with hardware counters. NVIDIA: correlation, kind of GPU, passes, count, {metric, value bits}
                      // AMD: id of the call, agent, kernel, ns, count, {counter, value bits}
  EV_LINES = 33,      // of the vendor's: correlation, kind of GPU, hash of the module, its checksum, count, {function, name, offset, metric, value}: a
                      // launch whose instructions were counted
  EV_END = 31,        // number of events before this one: the recording is whole
};

#endif
