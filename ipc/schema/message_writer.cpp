#include "ipc/schema/message_writer.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>
#include <kj/io.h>

#include <cassert>
#include <optional>
#include <string>
#include <vector>

#include "ipc/transport/transport.h"
#include "runtime/base/checked.h"

namespace modeld::ipc {
namespace {

// Framing of a single-segment message.
constexpr size_t kFramingWords = 1;

}  // namespace

struct MessageWriter::State {
  // The builder demands zeroed memory and zeroes what it used when it goes.
  std::vector<capnp::word> segment;
  std::vector<capnp::word> framed;
  std::optional<capnp::MallocMessageBuilder> builder;
};

MessageWriter::MessageWriter(size_t segment_bytes) : state_(std::make_unique<State>()) {
  const size_t words = align_up(segment_bytes, sizeof(capnp::word)) / sizeof(capnp::word);
  state_->segment.resize(words > 0 ? words : 1);
  state_->framed.resize(state_->segment.size() + kFramingWords);
}

MessageWriter::~MessageWriter() = default;

capnp::MessageBuilder& MessageWriter::begin() {
  state_->builder.reset();
  return state_->builder.emplace(kj::arrayPtr(state_->segment.data(), state_->segment.size()));
}

Result<std::span<const std::byte>> MessageWriter::finish() {
  assert(state_->builder.has_value());
  try {
    const size_t words = capnp::computeSerializedSizeInWords(*state_->builder);
    const size_t bytes = words * sizeof(capnp::word);
    if (bytes > kMaxMessageBytes) {
      return Error(ErrorCode::kExhausted, "message too large to send")
          .expecting("at most " + std::to_string(kMaxMessageBytes) + " bytes",
                     std::to_string(bytes));
    }
    if (state_->framed.size() < words) state_->framed.resize(words);
    auto* start = reinterpret_cast<kj::byte*>(state_->framed.data());
    kj::ArrayOutputStream out(kj::arrayPtr(start, bytes));
    capnp::writeMessage(out, *state_->builder);
    return std::span(reinterpret_cast<const std::byte*>(start), bytes);
  } catch (const kj::Exception& exception) {
    return Error(ErrorCode::kInternal,
                 std::string("message does not serialize: ") + exception.getDescription().cStr());
  }
}

}  // namespace modeld::ipc
