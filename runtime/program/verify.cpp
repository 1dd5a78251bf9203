#include "runtime/program/verify.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/base/checked.h"
#include "runtime/program/infer.h"

namespace modeld {
namespace {

// Where a tensor's value comes from.
enum class Origin : uint8_t { kNone, kInput, kState, kConstant, kOp };

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::kInput:
      return "a program input";
    case Origin::kState:
      return "a state";
    case Origin::kConstant:
      return "a constant";
    case Origin::kOp:
      return "written by an op";
    default:
      return "written by nobody";
  }
}

// Names come from the file: long ones are cut so that an error stays one line.
std::string quoted(std::string_view name) {
  return "'" + std::string(name.substr(0, 80)) + "'";
}

Error refused(std::string message, std::string want, std::string have) {
  return Error(ErrorCode::kRefused, std::move(message)).expecting(std::move(want), std::move(have));
}

// One program under examination; each method is one group of rules and relies on those before it.
class Verifier {
 public:
  Verifier(const Program& program, uint64_t weights_bytes, const ProgramLimits& limits)
      : program_(program), weights_bytes_(weights_bytes), limits_(limits) {}

  Status run() {
    MODELD_TRY(check_counts());
    MODELD_TRY(check_tensors());
    MODELD_TRY(check_inputs());
    MODELD_TRY(check_state_origins());
    MODELD_TRY(check_ops());
    MODELD_TRY(check_origins());
    MODELD_TRY(check_outputs());
    return check_states();
  }

 private:
  const Tensor& tensor(TensorId id) const { return program_.tensors[id]; }

  static std::string about(std::string_view role, const Tensor& tensor) {
    return std::string(role) + " " + quoted(tensor.name);
  }

  Status check_id(std::string what, TensorId id) const {
    if (id < program_.tensors.size()) return {};
    return refused(std::move(what), "a tensor id below " + std::to_string(program_.tensors.size()),
                   std::to_string(id));
  }

  static Status check_count(std::string what, size_t count, size_t most) {
    if (count <= most) return {};
    return refused("number of " + std::move(what), "at most " + std::to_string(most),
                   std::to_string(count));
  }

  Status check_counts() const {
    MODELD_TRY(check_count("tensors", program_.tensors.size(), limits_.max_tensors));
    MODELD_TRY(check_count("ops", program_.ops.size(), limits_.max_ops));
    MODELD_TRY(check_count("inputs", program_.inputs.size(), program_.tensors.size()));
    MODELD_TRY(check_count("outputs", program_.outputs.size(), program_.tensors.size()));
    return check_count("states", program_.states.size(), program_.tensors.size());
  }

  Status check_weight(const std::string& what, const WeightRef& weight, uint64_t bytes) const {
    if (weight.length != bytes) {
      return refused("weights of " + what, std::to_string(bytes) + " bytes",
                     std::to_string(weight.length) + " bytes");
    }
    if (range_fits(weight.offset, weight.length, weights_bytes_)) return {};
    return refused(
        "weights of " + what,
        "a place inside " + std::to_string(weights_bytes_) + " bytes of weights",
        std::to_string(weight.length) + " bytes at offset " + std::to_string(weight.offset));
  }

  Status check_type(const Tensor& tensor) const {
    const std::string what = about("tensor", tensor);
    const TensorType& type = tensor.type;
    if (type.dtype > DType::kNv12) {
      return refused(what, "a known element type", std::to_string(static_cast<int>(type.dtype)));
    }
    if (type.shape.size() > limits_.max_rank) {
      return refused(what, "rank at most " + std::to_string(limits_.max_rank),
                     "rank " + std::to_string(type.shape.size()));
    }
    if (type.dtype == DType::kNv12 && !type.shape.empty()) {
      return refused(what, "no shape for a frame", modeld::to_string(type));
    }
    const auto elements = checked_elements(type.shape);
    const uint64_t size = std::max<uint64_t>(size_of(type.dtype), 1);
    if (elements && static_cast<uint64_t>(*elements) <= limits_.max_tensor_bytes / size) return {};
    return refused(
        what,
        "extents of 0 or more and at most " + std::to_string(limits_.max_tensor_bytes) + " bytes",
        modeld::to_string(type));
  }

  Status check_tensors() {
    origins_.assign(program_.tensors.size(), Origin::kNone);
    std::unordered_set<std::string_view> names;
    uint64_t total = 0;
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      const Tensor& one = tensor(id);
      if (one.name.empty()) {
        return refused("tensor " + std::to_string(id), "a name", "an empty name");
      }
      if (!names.insert(one.name).second) {
        return refused(about("tensor", one), "a name used once", "a second tensor of that name");
      }
      MODELD_TRY(check_type(one));
      total += one.type.bytes();
      if (total > limits_.max_total_bytes) {
        return refused("tensors together",
                       "at most " + std::to_string(limits_.max_total_bytes) + " bytes",
                       "more, from tensor " + quoted(one.name) + " on");
      }
      if (one.is_constant()) MODELD_TRY(check_constant(id));
    }
    return {};
  }

  Status check_constant(TensorId id) {
    const Tensor& constant = tensor(id);
    if (constant.type.dtype == DType::kNv12) {
      return refused(about("constant", constant), "a tensor of numbers", "nv12");
    }
    MODELD_TRY(check_weight(about("constant", constant), *constant.weight, constant.type.bytes()));
    return claim(id, Origin::kConstant);
  }

  // Every tensor has one origin: a second claim is refused.
  Status claim(TensorId id, Origin origin) {
    if (origins_[id] == Origin::kNone) {
      origins_[id] = origin;
      return {};
    }
    return refused(about("tensor", tensor(id)), "one origin",
                   std::string(to_string(origins_[id])) + " and " + std::string(to_string(origin)));
  }

  Status check_inputs() {
    for (const TensorId id : program_.inputs) {
      MODELD_TRY(check_id("program input", id));
      MODELD_TRY(claim(id, Origin::kInput));
    }
    return {};
  }

  Status check_state_origins() {
    for (const StateBinding& state : program_.states) {
      MODELD_TRY(check_id("state current", state.current));
      MODELD_TRY(check_id("state next", state.next));
      MODELD_TRY(claim(state.current, Origin::kState));
    }
    return {};
  }

  Status check_ops() {
    for (size_t i = 0; i < program_.ops.size(); ++i) {
      if (Status status = check_op(program_.ops[i]); !status.ok()) {
        return std::move(status).error().in("op " + std::to_string(i) + " " +
                                            quoted(program_.ops[i].name));
      }
    }
    return {};
  }

  Status check_op(const Op& op) {
    if (op.phase != Phase::kWarp && op.phase != Phase::kHistory && op.phase != Phase::kModel) {
      return refused("phase", "warp, history or model", std::to_string(static_cast<int>(op.phase)));
    }
    std::vector<const TensorType*> types;
    for (const TensorId id : op.inputs) {
      if (id == kNoTensor) {
        types.push_back(nullptr);
        continue;
      }
      MODELD_TRY(check_id("input " + std::to_string(types.size()), id));
      if (origins_[id] == Origin::kNone) {
        return refused("input " + std::to_string(types.size()) + " " + quoted(tensor(id).name),
                       "a tensor written before", "one not written yet");
      }
      types.push_back(&tensor(id).type);
    }
    MODELD_ASSIGN(const auto inferred, infer_types(op.kind, op.attributes, types));
    return check_op_outputs(op, inferred);
  }

  Status check_op_outputs(const Op& op, const std::vector<TensorType>& inferred) {
    if (op.outputs.size() != inferred.size()) {
      return refused("outputs", std::to_string(inferred.size()), std::to_string(op.outputs.size()));
    }
    for (size_t i = 0; i < inferred.size(); ++i) {
      const std::string what = "output " + std::to_string(i);
      MODELD_TRY(check_id(what, op.outputs[i]));
      const Tensor& written = tensor(op.outputs[i]);
      if (written.type != inferred[i]) {
        return refused(what + " " + quoted(written.name), modeld::to_string(inferred[i]),
                       modeld::to_string(written.type));
      }
      MODELD_TRY(claim(op.outputs[i], Origin::kOp));
    }
    return {};
  }

  Status check_origins() const {
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      if (origins_[id] != Origin::kNone) continue;
      return refused(about("tensor", tensor(id)), "one origin",
                     std::string(to_string(Origin::kNone)));
    }
    return {};
  }

  Status check_outputs() const {
    std::vector<bool> seen(program_.tensors.size(), false);
    for (const TensorId id : program_.outputs) {
      MODELD_TRY(check_id("program output", id));
      const std::string what = about("program output", tensor(id));
      if (seen[id]) return refused(what, "named once", "named twice");
      seen[id] = true;
      if (tensor(id).type.dtype == DType::kNv12) {
        return refused(what, "a tensor of numbers", "nv12");
      }
    }
    return {};
  }

  Status check_states() const {
    for (const StateBinding& state : program_.states) {
      const Tensor& current = tensor(state.current);
      const Tensor& next = tensor(state.next);
      const std::string what = about("state", current);
      if (current.type.dtype == DType::kNv12) return refused(what, "a tensor of numbers", "nv12");
      if (current.type != next.type) {
        return refused(what + ", next " + quoted(next.name), modeld::to_string(current.type),
                       modeld::to_string(next.type));
      }
      if (origins_[state.next] != Origin::kOp) {
        return refused(what + ", next " + quoted(next.name), "written by an op",
                       std::string(to_string(origins_[state.next])));
      }
      if (state.initial) MODELD_TRY(check_weight(what, *state.initial, current.type.bytes()));
    }
    return {};
  }

  const Program& program_;
  const uint64_t weights_bytes_;
  const ProgramLimits& limits_;
  std::vector<Origin> origins_;  // by tensor id
};

}  // namespace

Status verify(const Program& program, uint64_t weights_bytes, const ProgramLimits& limits) {
  return Verifier(program, weights_bytes, limits).run();
}

}  // namespace modeld
