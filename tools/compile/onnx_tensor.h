// TensorProto to plain bytes.
#pragma once

#include "runtime/base/result.h"
#include "runtime/reference/evaluate.h"
#include "tools/compile/external_data.h"
#include "tools/compile/onnx_proto.h"

namespace modeld::compile {

// Takes raw bytes out of `proto` (it is emptied to keep memory low). The number of elements must
// be exactly what the dimensions say.
Result<HostTensor> tensor_of(onnx::TensorProto& proto, ExternalData& external);

}  // namespace modeld::compile
