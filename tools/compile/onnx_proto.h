// The generated ONNX classes (Debian's libonnx-dev; ONNX_ML and ONNX_NAMESPACE come from the build
// file). Only onnx_graph.cpp and onnx_tensor.cpp need it: everything else sees OnnxGraph.
#pragma once

#include <onnx/onnx_pb.h>
