// --input-shape NAME=1x256: extents that an ONNX file leaves open.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/tensor.h"

namespace modeld::modelctl {

class Subcommand;

void add_input_shape_option(Subcommand& command, std::vector<std::string>& texts);

// "NAME=1x256", each name once.
Result<std::map<std::string, Shape>> parse_input_shapes(const std::vector<std::string>& texts);

}  // namespace modeld::modelctl
