#include "tests/differential/make_case.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "runtime/program/infer.h"
#include "tests/differential/case_maker.h"

namespace modeld::test {
namespace {

constexpr int kProposals = 400;
constexpr int64_t kMostElements = 1 << 16;

bool acceptable(OpKind kind, const Proposal& proposal) {
  Attributes attributes;
  for (const auto& [name, value] : proposal.attributes) attributes.set(name, value);
  std::vector<const TensorType*> types;
  for (const auto& input : proposal.inputs) types.push_back(input ? &input->type : nullptr);
  const auto inferred = infer_types(kind, attributes, types);
  if (!inferred.ok()) return false;
  for (const TensorType& type : *inferred) {
    if (type.shape.size() > 8 || checked_elements(type.shape).value_or(-1) > kMostElements) {
      return false;
    }
  }
  return true;
}

std::optional<Proposal> accepted_proposal(Random& random, OpKind kind) {
  const Generator generator = generator_of(kind);
  for (int attempt = 0; attempt < kProposals; ++attempt) {
    Proposal proposal =
        generator != nullptr ? generator(random, kind) : generic_proposal(random, kind);
    if (acceptable(kind, proposal)) return proposal;
  }
  return std::nullopt;
}

HostTensor value_of(Random& random, const Operand& operand) {
  if (operand.exact) return make_tensor(operand.type.dtype, operand.type.shape, *operand.exact);
  return {operand.type, random_bytes(random, operand.type, operand.values, operand.extent)};
}

void make_single(Random& random, OpKind kind, FuzzCase& made) {
  const auto proposal = accepted_proposal(random, kind);
  if (!proposal) {
    throw std::runtime_error("no accepted case of " + std::string(to_string(kind)));
  }
  made.portable = proposal->portable;
  std::vector<TensorId> ids;
  for (size_t i = 0; i < proposal->inputs.size(); ++i) {
    const auto& operand = proposal->inputs[i];
    made.operands.emplace_back();
    if (!operand) {
      ids.push_back(kNoTensor);
      continue;
    }
    made.operands.back() = value_of(random, *operand);
    // Something must be left to run time.
    if (i > 0 && random.chance(operand->constant)) {
      ids.push_back(made.program.constant(*made.operands.back()));
    } else {
      ids.push_back(made.program.input("in" + std::to_string(i), operand->type));
      made.inputs.push_back(made.operands.back()->bytes);
    }
  }
  // ONNX has attributes in float32; doubles beyond would only show who rounds them when.
  Attributes::Map attributes = proposal->attributes;
  for (auto& [name, value] : attributes) {
    if (auto* number = std::get_if<double>(&value)) *number = static_cast<float>(*number);
  }
  const auto outputs = made.program.ops(kind, ids, attributes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    made.program.output(outputs[i], "out" + std::to_string(i));
  }
}

std::string text_of(const AttributeValue& value) {
  struct Printer {
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return std::to_string(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<int64_t>& v) const { return modeld::to_string(v); }
    std::string operator()(const std::vector<double>& v) const {
      std::string text = "[";
      for (const double each : v) text += (text.size() > 1 ? "," : "") + std::to_string(each);
      return text + "]";
    }
  };
  return std::visit(Printer{}, value);
}

}  // namespace

std::string to_string(const CaseId& id) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "/0x%llx", static_cast<unsigned long long>(id.seed));
  return (id.kind ? std::string(to_string(*id.kind)) : "graph") + digits;
}

std::optional<CaseId> parse_case_id(std::string_view text) {
  const size_t slash = text.find("/0x");
  if (slash == std::string_view::npos) return std::nullopt;
  CaseId id;
  const std::string_view kind = text.substr(0, slash);
  const std::string_view digits = text.substr(slash + 3);
  if (kind != "graph") {
    id.kind = parse_op_kind(kind);
    if (!id.kind) return std::nullopt;
  }
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), id.seed, 16);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return id;
}

std::string FuzzCase::description() const {
  const Program& graph = program.program();
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i] || !is_float(operands[i]->type.dtype)) continue;
    size_t odd = 0;
    for (const double value : to_doubles(operands[i]->type.dtype, operands[i]->bytes)) {
      if (!std::isfinite(value)) ++odd;
    }
    if (odd > 0) {
      text += "  " + std::to_string(odd) + " values of operand " + std::to_string(i) +
              " are not finite\n";
    }
  }
  for (const Op& op : graph.ops) {
    text += "  " + graph.tensors[op.outputs[0]].name + " = " + std::string(to_string(op.kind));
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor) {
        text += " -";
        continue;
      }
      const Tensor& tensor = graph.tensors[input];
      text += " " + tensor.name + ":" + modeld::to_string(tensor.type);
    }
    for (const auto& [name, value] : op.attributes.map()) text += " " + name + "=" + text_of(value);
    text += "\n";
  }
  return text;
}

FuzzCase make_case(const CaseId& id) {
  FuzzCase made;
  made.id = id;
  Random random(id.seed);
  if (id.kind) {
    make_single(random, *id.kind, made);
  } else {
    make_graph(random, made);
  }
  return made;
}

const Coverage& coverage() {
  static const Coverage known = [] {
    Coverage made;
    for (const OpKind kind : all_op_kinds()) {
      Random random(1);
      if (const auto reason = reason_not_generated(kind); !reason.empty()) {
        made.left_out.emplace_back(kind, std::string(reason));
      } else if (accepted_proposal(random, kind)) {
        made.generated.push_back(kind);
      } else {
        made.left_out.emplace_back(kind, "");
      }
    }
    return made;
  }();
  return known;
}

CaseId case_of_run(uint64_t seed, uint64_t index) {
  SplitMix64 mixer(SplitMix64(seed).next() + index);
  CaseId id;
  id.seed = mixer.next() >> 24;  // short enough to type
  const auto& kinds = coverage().generated;
  if (index % 4 != 3) id.kind = kinds[(index - index / 4) % kinds.size()];
  return id;
}

}  // namespace modeld::test
