#include "tools/compile/replace_weights.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tools/compile/safetensors.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

// What optimizers keep beside each weight, as frameworks name it in their checkpoints.
bool is_optimizer_state(std::string_view name) {
  constexpr std::array<std::string_view, 8> kWords = {"optimizer",   "optim.",  "exp_avg",
                                                      "momentum",    "adam",    "max_exp_avg",
                                                      "grad_scaler", "lr_sched"};
  std::string lower;
  for (const char c : name) {
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

struct Target {
  OnnxGraph* graph = nullptr;
  std::string name;
};

std::vector<Target> targets_of(std::span<const NamedGraph> graphs, const std::string& name) {
  std::vector<Target> targets;
  for (const NamedGraph& candidate : graphs) {
    const std::string prefix = candidate.stage + ".";
    if (candidate.graph->initializers.contains(name)) {
      targets.push_back({candidate.graph, name});
    } else if (!candidate.stage.empty() && name.starts_with(prefix) &&
               candidate.graph->initializers.contains(name.substr(prefix.size()))) {
      targets.push_back({candidate.graph, name.substr(prefix.size())});
    }
  }
  return targets;
}

Result<Target> target_of(std::span<const NamedGraph> graphs, const std::string& name,
                         const TensorType& type) {
  const std::vector<Target> targets = targets_of(graphs, name);
  if (targets.empty() && is_optimizer_state(name)) {
    return Error(ErrorCode::kRefused, "optimizer state, which is no part of a model");
  }
  if (targets.empty()) return Error(ErrorCode::kRefused, "the network has no such initializer");
  if (targets.size() > 1) {
    return Error(ErrorCode::kRefused, "several stages have this initializer")
        .expecting("STAGE.NAME", printable(name));
  }
  const TensorType& wanted = targets[0].graph->initializers.find(targets[0].name)->second->type;
  if (wanted != type) {
    return Error(ErrorCode::kRefused, "not of the initializer's type")
        .expecting(to_string(wanted), to_string(type));
  }
  return targets[0];
}

}  // namespace

Result<std::string> replace_weights(std::span<const NamedGraph> graphs,
                                    const std::filesystem::path& file) {
  MODELD_ASSIGN(const Safetensors weights, Safetensors::open(file));
  const auto fail = [&](Error error, const std::string& name) {
    return std::move(error).in("tensor '" + printable(name) + "'").in(printable(file.string()));
  };
  std::vector<std::pair<Target, const SafetensorsEntry*>> replacements;
  for (const auto& [name, entry] : weights.index()) {
    auto target = target_of(graphs, name, entry.type);
    if (!target.ok()) return fail(std::move(target).error(), name);
    replacements.emplace_back(std::move(target).value(), &entry);
  }
  std::vector<ConstantPtr> contents;
  for (const auto& [target, entry] : replacements) {
    auto tensor = weights.read(*entry);
    if (!tensor.ok()) return fail(std::move(tensor).error(), target.name);
    contents.push_back(std::make_shared<const HostTensor>(std::move(tensor).value()));
  }
  MODELD_ASSIGN(std::string digest, weights.sha256());
  for (size_t i = 0; i < replacements.size(); ++i) {
    const Target& target = replacements[i].first;
    target.graph->initializers.find(target.name)->second = std::move(contents[i]);
  }
  return digest;
}

}  // namespace modeld::compile
