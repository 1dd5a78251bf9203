#include "ipc/schema/message_writer.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>
#include <kj/io.h>

#include <cassert>
#include <cstring>
#include <optional>
#include <string>

#include "ipc/transport/transport.h"
#include "runtime/base/checked.h"

namespace modeld::ipc {
namespace {

// Framing of a single-segment message.
constexpr size_t kFramingWords = 1;

}  // namespace

struct MessageWriter::State {
  // The builder demands zeroed memory and zeroes what it used when it goes.
  kj::Array<capnp::word> segment;
  kj::Array<capnp::word> framed;
  std::optional<capnp::MallocMessageBuilder> builder;
};

MessageWriter::MessageWriter(size_t segment_bytes) : state_(std::make_unique<State>()) {
  const size_t words = align_up(segment_bytes, sizeof(capnp::word)) / sizeof(capnp::word);
  state_->segment = kj::heapArray<capnp::word>(words > 0 ? words : 1);
  std::memset(state_->segment.begin(), 0, state_->segment.asBytes().size());
  state_->framed = kj::heapArray<capnp::word>(state_->segment.size() + kFramingWords);
}

MessageWriter::~MessageWriter() = default;

capnp::MessageBuilder& MessageWriter::begin() {
  state_->builder.reset();
  return state_->builder.emplace(state_->segment.asPtr());
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
    if (state_->framed.size() < words) state_->framed = kj::heapArray<capnp::word>(words);
    auto* start = reinterpret_cast<kj::byte*>(state_->framed.begin());
    kj::ArrayOutputStream out(kj::arrayPtr(start, bytes));
    capnp::writeMessage(out, *state_->builder);
    return std::span(reinterpret_cast<const std::byte*>(start), bytes);
  } catch (const kj::Exception& exception) {
    return Error(ErrorCode::kInternal,
                 std::string("message does not serialize: ") + exception.getDescription().cStr());
  }
}

}  // namespace modeld::ipc
