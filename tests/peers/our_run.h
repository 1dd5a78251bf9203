// A network compiled and run by our backends in this process.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/artifact/model.h"
#include "runtime/device/capture.h"
#include "tests/peers/ort_peer.h"

namespace modeld::test {

// compile_onnx() with every pass, as modelctl run does. Throws with its words if refused.
// `shapes` fixes open extents of inputs.
Model compiled(const std::filesystem::path& onnx, const std::map<std::string, Shape>& shapes = {});

// Writes the inputs of one replay. Throws if one is missing or of another size.
void stage(Capture& capture, const NamedArrays& step);

// One replay with commit for each step; arrays of a step that are no inputs of the program (states)
// are left out. Throws if a backend refuses or fails.
std::vector<NamedArrays> run_on(const std::string& backend, const Model& model,
                                const std::vector<NamedArrays>& steps);

}  // namespace modeld::test
