#include "tools/modelctl/output_files.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "runtime/npy/npy.h"
#include "tools/modelctl/npy_tensor.h"

namespace modeld::modelctl {
namespace {

// A tensor's name as the name of a file in one folder, whatever the network calls it.
std::string file_name_of(const std::string& tensor) {
  std::string name = tensor;
  std::replace(name.begin(), name.end(), '/', '_');
  if (name.empty() || name.front() == '.') name = "output_" + name;
  return name + ".npy";
}

}  // namespace

Result<Json> write_outputs(const Capture& capture, const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return errno_error("making " + folder.string(), failure.value());
  Json outputs = Json::array();
  std::set<std::string> used;
  for (size_t i = 0; i < capture.outputs().size(); ++i) {
    const Slot& slot = capture.outputs()[i];
    std::string file = file_name_of(slot.name);
    if (!used.insert(file).second) {
      file = "output_" + std::to_string(i) + ".npy";
      used.insert(file);
    }
    MODELD_TRY(write_npy(folder / file, tensor_to_npy(capture.output(i), slot.type)));
    outputs.push_back(
        {{"name", slot.name}, {"type", to_string(slot.type)}, {"file", (folder / file).string()}});
  }
  return outputs;
}

}  // namespace modeld::modelctl
