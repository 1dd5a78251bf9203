#include "runtime/program/program.h"

namespace modeld {

std::optional<TensorId> Program::find_tensor(std::string_view name) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) return static_cast<TensorId>(i);
  }
  return std::nullopt;
}

}  // namespace modeld
