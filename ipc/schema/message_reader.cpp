#include "ipc/schema/message_reader.h"

#include <capnp/schema.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ipc/schema/framing.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"
#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {
namespace {

// Pointers may overlap, so a small message could be walked for ever. Every byte may be walked this
// often, and small messages a little more: ten times what our code does.
constexpr uint64_t kTraversalFactor = 16;
constexpr uint64_t kMinTraversalWords = 4096;

// The deepest struct we know is four pointers below the root.
constexpr int kNestingLimit = 16;

}  // namespace

struct MessageReader::State {
  kj::Array<capnp::word> scratch;  // an aligned copy, for bytes that are not
  std::optional<capnp::FlatArrayMessageReader> message;
};

Error message_error(const kj::Exception& exception) {
  return Error(ErrorCode::kCorrupt,
               std::string("message does not decode: ") + exception.getDescription().cStr());
}

MessageReader::MessageReader() : state_(std::make_unique<State>()) {}
MessageReader::~MessageReader() = default;

Status MessageReader::open(std::span<const std::byte> bytes) {
  state_->message.reset();
  MODELD_ASSIGN(const std::optional<Framing> framing, read_framing(bytes, kMaxMessageBytes));
  if (!framing) {
    return Error(ErrorCode::kCorrupt, "message is truncated")
        .expecting("the whole message", std::to_string(bytes.size()) + " bytes of it");
  }
  const size_t words = framing->total_bytes / sizeof(capnp::word);
  const std::byte* start = bytes.data();
  if (reinterpret_cast<uintptr_t>(start) % alignof(capnp::word) != 0) {
    if (state_->scratch.size() < words) state_->scratch = kj::heapArray<capnp::word>(words);
    std::memcpy(state_->scratch.begin(), start, framing->total_bytes);
    start = reinterpret_cast<const std::byte*>(state_->scratch.begin());
  }
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = std::max(words * kTraversalFactor, kMinTraversalWords);
  limits.nestingLimit = kNestingLimit;
  try {
    state_->message.emplace(kj::arrayPtr(reinterpret_cast<const capnp::word*>(start), words),
                            limits);
  } catch (const kj::Exception& exception) {
    return message_error(exception);
  }
  return {};
}

capnp::MessageReader& MessageReader::message() {
  return *state_->message;
}

Result<EventHeader> MessageReader::event_header() {
  try {
    const auto event = message().getRoot<wire::Event>();
    return EventHeader{event.getLogMonoTime(), event.getValid(),
                       static_cast<uint16_t>(event.which())};
  } catch (const kj::Exception& exception) {
    return message_error(exception);
  }
}

std::string_view event_kind(uint16_t tag) {
  const auto members = capnp::Schema::from<wire::Event>().getUnionFields();
  if (tag >= members.size()) return "unknown";
  const auto name = members[tag].getProto().getName();
  return {name.begin(), name.size()};
}

std::optional<uint16_t> event_tag(std::string_view kind) {
  if (const Service* service = find_service(kind)) kind = service->name;
  const auto members = capnp::Schema::from<wire::Event>().getUnionFields();
  for (uint16_t tag = 0; tag < members.size(); ++tag) {
    if (event_kind(tag) == kind) return tag;
  }
  return std::nullopt;
}

}  // namespace modeld::ipc
