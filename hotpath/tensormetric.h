// A function of struct hp_api, which hotpath.h describes.
#ifndef GOPROTON_TENSORMETRIC_H
#define GOPROTON_TENSORMETRIC_H

#include "hotpath.h"

int hp_tensor_metric(const struct hp_tensor *tensor, uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int vector);

#endif
