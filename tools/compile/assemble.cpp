#include "tools/compile/assemble.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/checked.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr uint64_t kWeightAlignment = 256;

class WeightPacker {
 public:
  WeightRef add(const std::vector<std::byte>& content) {
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    const size_t hash = std::hash<std::string_view>()(text);
    const auto [first, last] = known_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
      const WeightRef& place = at->second;
      if (place.length == content.size() &&
          std::memcmp(bytes_.data() + place.offset, content.data(), content.size()) == 0) {
        return place;
      }
    }
    bytes_.resize(align_up(bytes_.size(), kWeightAlignment));
    const WeightRef place{bytes_.size(), content.size()};
    bytes_.insert(bytes_.end(), content.begin(), content.end());
    known_.emplace(hash, place);
    return place;
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
  std::unordered_multimap<size_t, WeightRef> known_;
};

class Assembler {
 public:
  explicit Assembler(Draft draft)
      : draft_(std::move(draft)), ids_(draft_.tensors.size(), kNoTensor) {}

  AssembledProgram run();

 private:
  TensorId place(TensorId id);
  void reserve_names();
  std::string unique_name(const std::string& wanted, bool promised);
  void place_op(Op op);

  Draft draft_;
  std::vector<TensorId> ids_;  // of the program, by id of the draft
  std::vector<bool> promised_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, size_t> next_suffix_;
  WeightPacker packer_;
  AssembledProgram result_;
};

std::string Assembler::unique_name(const std::string& wanted, bool promised) {
  const std::string base = wanted.empty() ? "tensor" : printable(wanted);
  // Promised names are in the set from the start; the first tensor to ask takes its own.
  if (promised) return base;
  if (names_.insert(base).second) return base;
  size_t& suffix = next_suffix_[base];
  for (;;) {
    std::string name = base + "#" + std::to_string(++suffix);
    if (names_.insert(name).second) return name;
  }
}

void Assembler::reserve_names() {
  promised_.assign(draft_.tensors.size(), false);
  const auto promise = [&](TensorId id) {
    promised_[id] = names_.insert(printable(draft_.tensors[id].name)).second;
  };
  for (const TensorId id : draft_.inputs) promise(id);
  for (const TensorId id : draft_.outputs) promise(id);
  for (const DraftState& state : draft_.states) promise(state.current);
}

TensorId Assembler::place(TensorId id) {
  if (id == kNoTensor || ids_[id] != kNoTensor) return id == kNoTensor ? kNoTensor : ids_[id];
  DraftTensor& from = draft_.tensors[id];
  Tensor tensor{unique_name(from.name, promised_[id]), from.type, std::nullopt};
  if (from.constant) {
    tensor.weight = packer_.add(from.constant->bytes);
    from.constant.reset();
  }
  ids_[id] = static_cast<TensorId>(result_.program.tensors.size());
  result_.program.tensors.push_back(std::move(tensor));
  return ids_[id];
}

void Assembler::place_op(Op op) {
  op.name = printable(op.name);
  for (TensorId& id : op.inputs) id = place(id);
  for (TensorId& id : op.outputs) id = place(id);
  // What is left out at the end need not be said.
  while (!op.inputs.empty() && op.inputs.back() == kNoTensor) op.inputs.pop_back();
  result_.program.ops.push_back(std::move(op));
}

AssembledProgram Assembler::run() {
  reserve_names();
  Program& program = result_.program;
  for (const TensorId id : draft_.inputs) program.inputs.push_back(place(id));
  for (const DraftState& state : draft_.states) place(state.current);
  for (Op& op : draft_.ops) place_op(std::move(op));
  for (const TensorId id : draft_.outputs) program.outputs.push_back(place(id));
  for (const DraftState& state : draft_.states) {
    program.states.push_back({place(state.current), place(state.next), std::nullopt});
  }
  result_.weights = std::make_shared<MemoryWeights>(packer_.take());
  return std::move(result_);
}

}  // namespace

AssembledProgram assemble(Draft draft) {
  return Assembler(std::move(draft)).run();
}

}  // namespace modeld::compile
