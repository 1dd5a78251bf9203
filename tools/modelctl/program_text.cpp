#include "tools/modelctl/program_text.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/program/cost.h"
#include "runtime/program/memory_plan.h"
#include "tools/modelctl/inspect_json.h"
#include "tools/modelctl/report.h"

namespace modeld::modelctl {
namespace {

std::string input_text(const Program& program, const Op& op, size_t index) {
  const TensorId id = op.inputs[index];
  if (id == kNoTensor) return "-";
  const Tensor& tensor = program.tensors[id];
  if (tensor.is_constant() && index > 0) return tensor.name;
  return tensor.name + " " + to_string(tensor.type);
}

std::string op_text(const Program& program, const Op& op) {
  std::string text;
  for (const TensorId id : op.outputs) {
    const Tensor& tensor = program.tensors[id];
    text += (text.empty() ? "" : ", ") + tensor.name + " " + to_string(tensor.type);
  }
  text += " = " + std::string(to_string(op.kind)) + "(";
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + input_text(program, op, i);
  }
  text += ")";
  for (const auto& [name, value] : op.attributes.map()) {
    text += " " + name + "=" + attribute_json(value).dump();
  }
  const OpCost cost = op_cost(program, op);
  text += " | ";
  if (cost.macs > 0) text += format_number(static_cast<double>(cost.macs) / 1e6) + " MMAC, ";
  return text + "reads " + format_bytes(cost.bytes_read) + ", writes " +
         format_bytes(cost.bytes_written);
}

}  // namespace

std::vector<std::string> program_lines(const Program& program) {
  std::vector<std::string> lines;
  for (const Op& op : program.ops) {
    lines.push_back(std::to_string(lines.size()) + " " + op_text(program, op));
  }
  return lines;
}

std::vector<std::string> arena_lines(const Program& program) {
  std::vector<std::string> lines;
  for (const ArenaPlace& place : arena_map(program)) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "0x%08llx  %10s  ops %u..%u  ",
                  static_cast<unsigned long long>(place.offset), format_bytes(place.bytes).c_str(),
                  place.first, place.last);
    const Tensor& tensor = program.tensors[place.tensor];
    lines.push_back(numbers + tensor.name + " " + to_string(tensor.type));
  }
  return lines;
}

}  // namespace modeld::modelctl
