#include "runtime/program/pointwise_body.h"

#include <cmath>
#include <limits>
#include <string>

#include "runtime/program/op_schema.h"

namespace modeld {
namespace {

constexpr size_t kMostOps = 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Attributes that are floats, in the order in which `parameters` holds them.
std::span<const std::string_view> parameters_of(OpKind kind) {
  static constexpr std::string_view kBounds[] = {"min", "max"};
  static constexpr std::string_view kAlpha[] = {"alpha"};
  static constexpr std::string_view kAlphaBeta[] = {"alpha", "beta"};
  switch (kind) {
    case OpKind::kClip:
      return kBounds;
    case OpKind::kElu:
    case OpKind::kLeakyRelu:
      return kAlpha;
    case OpKind::kHardSigmoid:
      return kAlphaBeta;
    default:
      return {};
  }
}

// The attribute that is a word, or empty.
std::string_view word_of(OpKind kind) {
  switch (kind) {
    case OpKind::kCast:
    case OpKind::kDequantizeLinear:
    case OpKind::kQuantizeLinear:
      return "to";
    case OpKind::kGelu:
      return "approximate";
    default:
      return {};
  }
}

Error wrong(const std::string& what, std::string want, std::string have) {
  return Error(ErrorCode::kRefused, "Pointwise: " + what)
      .expecting(std::move(want), have.substr(0, 64));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

class Decoder {
 public:
  Decoder(const Attributes& attributes, size_t inputs)
      : inputs_(inputs),
        kinds_(split(attributes.get_string("ops"))),
        words_(split(attributes.get_string("words"))),
        counts_(attributes.get_ints("counts")),
        operands_(attributes.get_ints("operands")),
        parameters_(attributes.get_floats("parameters")),
        results_(attributes.get_ints("results")) {}

  Result<Expansion> run() {
    const std::string ops = std::to_string(kinds_.size());
    if (kinds_.size() > kMostOps) return wrong("ops", "at most 256", ops);
    if (words_.size() != kinds_.size()) return wrong("words", ops, std::to_string(words_.size()));
    if (counts_.size() != kinds_.size()) {
      return wrong("counts", ops, std::to_string(counts_.size()));
    }
    Expansion body;
    for (size_t i = 0; i < kinds_.size(); ++i) {
      MODELD_ASSIGN(InnerOp op, next_op(i));
      body.ops.push_back(std::move(op));
    }
    if (operand_ != operands_.size() || parameter_ != parameters_.size()) {
      return wrong("operands and parameters", "as many as the ops have",
                   std::to_string(operands_.size()) + " and " + std::to_string(parameters_.size()));
    }
    if (results_.empty()) return wrong("results", "at least one", "none");
    int64_t before = -1;
    for (const int64_t result : results_) {
      if (result <= before || result >= static_cast<int64_t>(kinds_.size())) {
        return wrong("results", "ascending, below " + ops, std::to_string(result));
      }
      before = result;
      body.results.push_back(static_cast<uint32_t>(result));
    }
    return body;
  }

 private:
  Result<InnerOp> next_op(size_t index) {
    const auto kind = parse_op_kind(kinds_[index]);
    if (!kind || !may_be_in_body(*kind)) return wrong("ops", "element-wise ops", kinds_[index]);
    InnerOp op;
    op.kind = *kind;
    const auto most = static_cast<int64_t>(operands_.size() - operand_);
    if (counts_[index] < 1 || counts_[index] > most) {
      return wrong("counts", "1 to " + std::to_string(most), std::to_string(counts_[index]));
    }
    for (int64_t i = 0; i < counts_[index]; ++i) {
      const int64_t operand = operands_[operand_++];
      const auto known = static_cast<int64_t>(inputs_ + index);
      if (operand < 0 || operand >= known) {
        return wrong("operands", "below " + std::to_string(known), std::to_string(operand));
      }
      op.operands.push_back(static_cast<uint32_t>(operand));
    }
    for (const std::string_view name : parameters_of(*kind)) {
      if (parameter_ >= parameters_.size()) return wrong("parameters", "more", "too few");
      const double value = parameters_[parameter_++];
      const bool no_bound = *kind == OpKind::kClip && std::isinf(value);
      if (!no_bound) op.attributes.set(std::string(name), value);
    }
    if (const auto name = word_of(*kind); !name.empty()) {
      op.attributes.set(std::string(name), words_[index]);
    } else if (!words_[index].empty()) {
      return wrong("words", "nothing for " + kinds_[index], words_[index]);
    }
    return op;
  }

  size_t inputs_;
  std::vector<std::string> kinds_;
  std::vector<std::string> words_;
  std::vector<int64_t> counts_;
  std::vector<int64_t> operands_;
  std::vector<double> parameters_;
  std::vector<int64_t> results_;
  size_t operand_ = 0;
  size_t parameter_ = 0;
};

}  // namespace

bool may_be_in_body(OpKind kind) {
  using enum OpKind;
  if (kind == kMod) return false;  // integers and remainders: nothing that regions are made for
  return (kind >= kAbs && kind <= kWhere) || kind == kCast || kind == kDequantizeLinear ||
         kind == kQuantizeLinear;
}

bool can_be_encoded(OpKind kind, const Attributes& attributes) {
  if (!may_be_in_body(kind)) return false;
  for (const auto& [name, value] : attributes.map()) {
    bool known = name == word_of(kind);
    for (const std::string_view parameter : parameters_of(kind)) known |= parameter == name;
    if (!known) return false;
  }
  if (kind != OpKind::kClip) return true;
  // An infinite number among the parameters means that there is no bound.
  return std::isfinite(attributes.get_float("min")) && std::isfinite(attributes.get_float("max"));
}

Attributes encode_body(std::span<const InnerOp> ops, std::span<const uint32_t> results) {
  std::string kinds;
  std::string words;
  std::vector<int64_t> counts;
  std::vector<int64_t> operands;
  std::vector<double> parameters;
  for (const InnerOp& op : ops) {
    if (!counts.empty()) {
      kinds += ",";
      words += ",";
    }
    kinds += to_string(op.kind);
    if (const auto name = word_of(op.kind); !name.empty()) words += op.attributes.get_string(name);
    for (const std::string_view name : parameters_of(op.kind)) {
      const double otherwise = name == "min" ? -kInfinity : name == "max" ? kInfinity : 0;
      parameters.push_back(op.attributes.get_float(name, otherwise));
    }
    counts.push_back(static_cast<int64_t>(op.operands.size()));
    for (const uint32_t operand : op.operands) operands.push_back(operand);
  }
  Attributes attributes;
  attributes.set("ops", std::move(kinds));
  attributes.set("words", std::move(words));
  attributes.set("counts", std::move(counts));
  attributes.set("operands", std::move(operands));
  attributes.set("parameters", std::move(parameters));
  attributes.set("results", std::vector<int64_t>(results.begin(), results.end()));
  return attributes;
}

Result<Expansion> decode_body(const Attributes& attributes, size_t inputs) {
  return Decoder(attributes, inputs).run();
}

}  // namespace modeld
