#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <limits>

#include "manifest.capnp.h"
#include "runtime/artifact/manifest_codec.h"
#include "runtime/program/verify.h"

namespace modeld {
namespace {

constexpr size_t kFramingBytes = 8;
// Deepest path of the schema is 7 pointers; anything above is not ours.
constexpr int kNestingLimit = 16;
constexpr size_t kMaxAttributes = 64;
constexpr size_t kMaxOperands = 65536;
constexpr size_t kMaxListLength = 1 << 20;  // of lists inside an attribute
constexpr size_t kMaxContractItems = 4096;

// Reads fields and remembers the first refusal; what it returns after one is of no use, and every
// loop over it stays bounded by the message's traversal limit.
class Decoder {
 public:
  const Status& status() const { return status_; }

  void refuse(std::string_view field, std::string expected, std::string found) {
    if (!status_.ok()) return;
    status_ = Error(ErrorCode::kRefused, "manifest: " + std::string(field))
                  .expecting(std::move(expected), std::move(found));
  }

  std::string text(capnp::Text::Reader in, std::string_view field) {
    const std::string_view view(in.begin(), in.size());
    if (view.size() > kMaxTextBytes) {
      refuse(field, "at most " + std::to_string(kMaxTextBytes) + " bytes of text",
             std::to_string(view.size()) + " bytes");
      return {};
    }
    if (!is_clean_text(view)) refuse(field, "UTF-8 text without control characters", "other bytes");
    return std::string(view);
  }

  // A name out of a fixed set.
  template <typename Parse>
  auto named(capnp::Text::Reader in, std::string_view field, Parse parse) {
    const std::string name = text(in, field);
    const auto value = parse(name);
    if (!value) refuse(field, "a known name", "'" + name + "'");
    return value.value_or(typename decltype(parse(name))::value_type{});
  }

  // Length of a list, at most `limit`; 0 once something was refused.
  template <typename List>
  uint32_t length(const List& list, size_t limit, std::string_view field) {
    if (list.size() > limit) {
      refuse(field, "at most " + std::to_string(limit), std::to_string(list.size()));
    }
    return status_.ok() ? list.size() : 0;
  }

  template <typename Value, typename List>
  std::vector<Value> scalars(const List& list, size_t limit, std::string_view field) {
    std::vector<Value> values(length(list, limit, field));
    for (uint32_t i = 0; i < values.size(); ++i) values[i] = list[i];
    return values;
  }

  template <typename List, typename Read>
  auto all(const List& list, size_t limit, std::string_view field, Read read) {
    std::vector<decltype(read(list[0]))> values;
    const uint32_t count = length(list, limit, field);
    for (uint32_t i = 0; i < count && status_.ok(); ++i) values.push_back(read(list[i]));
    return values;
  }

 private:
  Status status_;
};

std::optional<Phase> parse_phase(std::string_view name) {
  for (const Phase phase : {Phase::kWarp, Phase::kHistory, Phase::kModel}) {
    if (to_string(phase) == name) return phase;
  }
  return std::nullopt;
}

TensorType decode(Decoder& d, manifest::TensorType::Reader in) {
  return {.dtype = d.named(in.getDtype(), "dtype", parse_dtype),
          .shape = d.scalars<int64_t>(in.getShape(), ProgramLimits{}.max_rank, "rank of a tensor")};
}

WeightRef decode(manifest::WeightRef::Reader in) {
  return {.offset = in.getOffset(), .length = in.getLength()};
}

Tensor decode(Decoder& d, manifest::Program::Tensor::Reader in) {
  Tensor tensor;
  tensor.name = d.text(in.getName(), "tensor name");
  tensor.type = decode(d, in.getType());
  if (in.hasWeight()) tensor.weight = decode(in.getWeight());
  return tensor;
}

AttributeValue decode_value(Decoder& d, manifest::Program::Attribute::Reader in) {
  switch (in.which()) {
    case manifest::Program::Attribute::INTEGER:
      return in.getInteger();
    case manifest::Program::Attribute::REAL:
      return in.getReal();
    case manifest::Program::Attribute::TEXT:
      return d.text(in.getText(), "attribute text");
    case manifest::Program::Attribute::INTEGERS:
      return d.scalars<int64_t>(in.getIntegers(), kMaxListLength, "integers of an attribute");
    case manifest::Program::Attribute::REALS:
      return d.scalars<double>(in.getReals(), kMaxListLength, "reals of an attribute");
  }
  d.refuse("kind of an attribute", "0 to 4", std::to_string(in.which()));
  return int64_t{0};
}

Op decode(Decoder& d, manifest::Program::Op::Reader in) {
  Op op;
  op.kind = d.named(in.getKind(), "op", parse_op_kind);
  op.name = d.text(in.getName(), "op name");
  op.phase = d.named(in.getPhase(), "phase of an op", parse_phase);
  op.inputs = d.scalars<TensorId>(in.getInputs(), kMaxOperands, "inputs of an op");
  op.outputs = d.scalars<TensorId>(in.getOutputs(), kMaxOperands, "outputs of an op");
  std::string previous;
  const uint32_t count = d.length(in.getAttributes(), kMaxAttributes, "attributes of an op");
  for (uint32_t i = 0; i < count; ++i) {
    const auto attribute = in.getAttributes()[i];
    std::string name = d.text(attribute.getName(), "attribute name");
    if (name <= previous) d.refuse("attribute names", "ascending", "'" + name + "'");
    previous = name;
    op.attributes.set(std::move(name), decode_value(d, attribute));
  }
  return op;
}

StateBinding decode(manifest::Program::State::Reader in) {
  StateBinding state{.current = in.getCurrent(), .next = in.getNext(), .initial = {}};
  if (in.hasInitial()) state.initial = decode(in.getInitial());
  return state;
}

Program decode(Decoder& d, manifest::Program::Reader in) {
  const ProgramLimits limits;
  Program program;
  program.tensors = d.all(in.getTensors(), limits.max_tensors, "number of tensors",
                          [&](auto tensor) { return decode(d, tensor); });
  program.ops =
      d.all(in.getOps(), limits.max_ops, "number of ops", [&](auto op) { return decode(d, op); });
  program.inputs = d.scalars<TensorId>(in.getInputs(), kMaxContractItems, "number of inputs");
  program.outputs = d.scalars<TensorId>(in.getOutputs(), kMaxContractItems, "number of outputs");
  program.states = d.all(in.getStates(), kMaxContractItems, "number of states",
                         [](auto state) { return decode(state); });
  return program;
}

InputContract decode(Decoder& d, manifest::Contract::Input::Reader in) {
  return {.name = d.text(in.getName(), "input name"),
          .role = d.named(in.getRole(), "role of an input", parse_input_role),
          .source = d.text(in.getSource(), "source of an input"),
          .type = decode(d, in.getType())};
}

Tolerance decode(Decoder& d, manifest::Contract::Tolerance::Reader in) {
  return {.device_class = d.named(in.getDeviceClass(), "device class", parse_device_class),
          .absolute = in.getAbsolute(),
          .relative = in.getRelative()};
}

OutputSlice decode(Decoder& d, manifest::Contract::Slice::Reader in) {
  return {.name = d.text(in.getName(), "slice name"),
          .start = in.getStart(),
          .stop = in.getStop(),
          .minimum = in.getMinimum(),
          .maximum = in.getMaximum(),
          .varies = in.getVaries(),
          .tolerances = d.all(in.getTolerances(), kMaxContractItems, "tolerances of a slice",
                              [&](auto tolerance) { return decode(d, tolerance); })};
}

OutputContract decode(Decoder& d, manifest::Contract::Output::Reader in) {
  return {.name = d.text(in.getName(), "output name"),
          .type = decode(d, in.getType()),
          .slices = d.all(in.getSlices(), kMaxContractItems, "slices of an output",
                          [&](auto slice) { return decode(d, slice); })};
}

StateContract decode(Decoder& d, manifest::Contract::State::Reader in) {
  return {.name = d.text(in.getName(), "state name"),
          .reset = d.text(in.getReset(), "reset of a state")};
}

FrameSize decode(manifest::Contract::FrameSize::Reader in) {
  return {.width = in.getWidth(), .height = in.getHeight()};
}

CameraContract decode(Decoder& d, manifest::Contract::Camera::Reader in) {
  CameraContract camera;
  camera.frame_input = d.text(in.getFrameInput(), "frame input of a camera");
  camera.transform_input = d.text(in.getTransformInput(), "transform input of a camera");
  camera.sizes = d.all(in.getSizes(), kMaxContractItems, "sizes of a camera",
                       [](auto size) { return decode(size); });
  camera.layout = d.text(in.getLayout(), "layout of a camera");
  camera.output_size = decode(in.getOutputSize());
  const auto border = in.getBorder();
  if (border.isFill()) {
    camera.border_fill = border.getFill();
  } else if (!border.isClamp()) {
    d.refuse("border of a camera", "clamp or fill", "kind " + std::to_string(border.which()));
  }
  camera.pixel_range = d.text(in.getPixelRange(), "pixel range of a camera");
  camera.colour_matrix = d.text(in.getColourMatrix(), "colour matrix of a camera");
  return camera;
}

std::vector<std::byte> decode(capnp::Data::Reader in) {
  const auto* begin = reinterpret_cast<const std::byte*>(in.begin());
  return {begin, begin + in.size()};
}

ReferenceVector decode(Decoder& d, manifest::Contract::Reference::Reader in) {
  return {.seed = in.getSeed(),
          .steps = in.getSteps(),
          .outputs = d.all(in.getOutputs(), kMaxContractItems, "outputs of a reference vector",
                           [](capnp::Data::Reader output) { return decode(output); })};
}

Acceptance decode(Decoder& d, manifest::Contract::Acceptance::Reader in) {
  return {.backend = d.text(in.getBackend(), "backend of an acceptance"),
          .device_class = d.named(in.getDeviceClass(), "device class", parse_device_class),
          .device = d.text(in.getDevice(), "device of an acceptance"),
          .worst_ms = in.getWorstMs(),
          .unix_seconds = in.getUnixSeconds()};
}

ManifestHead decode_head(Decoder& d, manifest::Contract::Reader in) {
  return {.role = d.named(in.getRole(), "role of the model", parse_model_role),
          .device_classes =
              d.all(in.getDeviceClasses(), kMaxContractItems, "device classes",
                    [&](auto name) { return d.named(name, "device class", parse_device_class); })};
}

Contract decode(Decoder& d, manifest::Contract::Reader in) {
  Contract contract;
  ManifestHead head = decode_head(d, in);
  contract.role = head.role;
  contract.device_classes = std::move(head.device_classes);
  contract.name = d.text(in.getName(), "name of the model");
  contract.source_sha256 = d.text(in.getSourceSha256(), "SHA-256 of the source");
  contract.opsets = d.all(in.getOpsets(), kMaxContractItems, "opsets", [&](auto opset) {
    return std::pair<std::string, int64_t>(d.text(opset.getDomain(), "opset domain"),
                                           opset.getVersion());
  });
  contract.compiler_version = d.text(in.getCompilerVersion(), "compiler version");
  contract.checkpoint = d.text(in.getCheckpoint(), "checkpoint");
  contract.precision = d.named(in.getPrecision(), "precision", parse_precision);
  const auto each = [&](auto item) { return decode(d, item); };
  contract.inputs = d.all(in.getInputs(), kMaxContractItems, "inputs", each);
  contract.outputs = d.all(in.getOutputs(), kMaxContractItems, "outputs", each);
  contract.states = d.all(in.getStates(), kMaxContractItems, "states", each);
  contract.cameras = d.all(in.getCameras(), kMaxContractItems, "cameras", each);
  contract.references = d.all(in.getReferences(), kMaxContractItems, "reference vectors", each);
  contract.acceptances = d.all(in.getAcceptances(), kMaxContractItems, "acceptances", each);
  return contract;
}

std::vector<Sha256> decode_hashes(Decoder& d, capnp::Data::Reader in) {
  if (in.size() % sizeof(Sha256) != 0) {
    d.refuse("hashes of weight blocks", "a multiple of 32 bytes",
             std::to_string(in.size()) + " bytes");
    return {};
  }
  std::vector<Sha256> hashes(in.size() / sizeof(Sha256));
  if (!hashes.empty()) std::memcpy(hashes.data(), in.begin(), in.size());
  return hashes;
}

// The words behind the framing, copied because Cap'n Proto wants them aligned.
Result<kj::Array<capnp::word>> unframe(std::span<const std::byte> bytes) {
  std::array<uint8_t, kFramingBytes> framing{};
  if (bytes.size() >= framing.size()) std::memcpy(framing.data(), bytes.data(), framing.size());
  uint64_t segments = 0;
  uint64_t words = 0;
  for (size_t i = 0; i < 4; ++i) {
    segments |= uint64_t{framing[i]} << (8 * i);
    words |= uint64_t{framing[4 + i]} << (8 * i);
  }
  if (bytes.size() < kFramingBytes || segments != 0 ||
      kFramingBytes + words * sizeof(capnp::word) != bytes.size()) {
    return Error(ErrorCode::kRefused, "manifest: framing")
        .expecting("one segment that fills " + std::to_string(bytes.size()) + " bytes",
                   std::to_string(segments + 1) + " segments, the first of " +
                       std::to_string(words) + " words");
  }
  auto content = kj::heapArray<capnp::word>(words);
  const auto rest = bytes.subspan(kFramingBytes);
  if (!rest.empty()) std::memcpy(content.begin(), rest.data(), rest.size());
  return content;
}

// Calls `read` on the message's root; whatever Cap'n Proto throws at malformed bytes is a refusal.
template <typename Read>
auto with_message(std::span<const std::byte> bytes, Read read)
    -> decltype(read(std::declval<capnp::MessageReader&>())) {
  auto words = unframe(bytes);
  if (!words.ok()) return std::move(words).error();
  // Every word is read about once; lists of empty structs are charged to the same account.
  const capnp::ReaderOptions options{.traversalLimitInWords = 4 * words->size() + 65536,
                                     .nestingLimit = kNestingLimit};
  try {
    const kj::ArrayPtr<const capnp::word> segment = words->asPtr();
    capnp::SegmentArrayMessageReader message(kj::arrayPtr(&segment, 1), options);
    return read(message);
  } catch (const kj::Exception& failure) {
    return Error(ErrorCode::kRefused, "manifest: malformed")
        .expecting("a Cap'n Proto message", failure.getDescription().cStr());
  }
}

}  // namespace

bool is_clean_text(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead < 0x20 || lead == 0x7f) return false;
    const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (length > 1 && (lead < 0xc2 || lead > 0xf4)) return false;
    if (length > text.size() - i) return false;
    uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      point = (point << 6) | (next & 0x3fu);
    }
    // Overlong forms, surrogates, beyond Unicode, and the C1 control characters.
    constexpr std::array<uint32_t, 5> kSmallest = {0, 0, 0xa0, 0x800, 0x10000};
    if (point < kSmallest[length] || (point >= 0xd800 && point < 0xe000) || point > 0x10ffff) {
      return false;
    }
    i += length;
  }
  return true;
}

Result<ManifestHead> decode_manifest_head(std::span<const std::byte> bytes) {
  return with_message(bytes, [](capnp::MessageReader& message) -> Result<ManifestHead> {
    Decoder d;
    ManifestHead head = decode_head(d, message.getRoot<manifest::Manifest>().getContract());
    MODELD_TRY(d.status());
    return head;
  });
}

Result<Manifest> decode_manifest(std::span<const std::byte> bytes) {
  return with_message(bytes, [](capnp::MessageReader& message) -> Result<Manifest> {
    if (!message.isCanonical()) {
      return Error(ErrorCode::kRefused, "manifest: encoding")
          .expecting("canonical Cap'n Proto", "another form of it");
    }
    const auto root = message.getRoot<manifest::Manifest>();
    Decoder d;
    Manifest manifest;
    manifest.contract = decode(d, root.getContract());
    manifest.program = decode(d, root.getProgram());
    manifest.weight_block_hashes = decode_hashes(d, root.getWeightBlockHashes());
    MODELD_TRY(d.status());
    return manifest;
  });
}

}  // namespace modeld
