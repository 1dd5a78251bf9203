// The ops in their plainest form, by kind. Each lowers Lowering::op() into kernels of one work-item
// per result, per row or, where the order of updates matters, per sequence of updates.
#pragma once

#include "runtime/base/result.h"
#include "runtime/opencl/lowering.h"

namespace modeld::opencl {

void plain_convolution(Lowering& lowering);
void plain_integer_convolution(Lowering& lowering);
void plain_product(Lowering& lowering);
void plain_integer_product(Lowering& lowering);
void plain_recurrent(Lowering& lowering);
void plain_pool(Lowering& lowering);
void plain_reduction(Lowering& lowering);
void plain_log_sum_exp(Lowering& lowering);
void plain_cumulative_sum(Lowering& lowering);
void plain_arg(Lowering& lowering);
void plain_softmax(Lowering& lowering);     // and LogSoftmax
void plain_layer_norm(Lowering& lowering);  // and RMSNormalization
void plain_resize(Lowering& lowering);
// kUnsupported for integers where the device has no double: their quotients need it.
Status plain_quantize(Lowering& lowering);
void plain_dequantize(Lowering& lowering);
void plain_gather_elements(Lowering& lowering);
void plain_gather_nd(Lowering& lowering);
void plain_scatter_elements(Lowering& lowering);
void plain_scatter_nd(Lowering& lowering);
void plain_top_k(Lowering& lowering);
void plain_non_max_suppression(Lowering& lowering);

}  // namespace modeld::opencl
