#ifndef GOPROTON_RECORDER_SEEN_H
#define GOPROTON_RECORDER_SEEN_H

// 1 once a vendor's room has said that the process uses a GPU.
int record_saw_gpu(void);

#endif
