// The recorded rings of a stock publisher with stock subscribers (vectors, wire/ring_*): our two
// ends, led through the same steps, receive the same and leave the same bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "ipc/msgq/ring_reader.h"
#include "ipc/msgq/ring_writer.h"
#include "runtime/base/file.h"
#include "tests/msgq/ring_memory.h"
#include "tests/support/test_data.h"

namespace modeld::ipc {
namespace {

using nlohmann::json;
using test::RingMemory;

constexpr int kAll = 1'000'000;

std::vector<std::byte> payload_of(uint64_t message, size_t size) {
  std::vector<std::byte> payload(size);
  for (size_t k = 0; k < size; ++k) payload[k] = static_cast<std::byte>(17 * message + 3 * k + 1);
  return payload;
}

std::string fnv1a32(std::span<const std::byte> bytes) {
  uint32_t hash = 0x811c9dc5;
  for (const std::byte each : bytes) hash = (hash ^ static_cast<uint8_t>(each)) * 0x01000193;
  char text[9];
  std::snprintf(text, sizeof text, "%08x", hash);
  return text;
}

std::vector<std::byte> read_vector(const std::string& name) {
  auto bytes = read_file(modeld::test::shared_path("data/vectors/wire/" + name), 1 << 26);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? std::vector<std::byte>(bytes->begin(), bytes->end())
                    : std::vector<std::byte>();
}

json parse(const std::vector<std::byte>& bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return json::parse(text, text + bytes.size());
}

// Plays one recording.
class Recording {
 public:
  explicit Recording(const std::string& name)
      : script_(parse(read_vector(name + ".json"))),
        snapshots_(read_vector(name + ".bin")),
        memory_(script_["data_bytes"].get<uint64_t>()) {}

  void play() {
    for (const json& step : script_["steps"]) {
      SCOPED_TRACE(step["op"].get<std::string>());
      // Refused by us; see MsgqTransport.AnotherSizeIsRefusedAndLeftAlone.
      if (step["op"].get<std::string>().find("twice the data size") != std::string::npos) continue;
      act(step);
      compare(step);
      if (testing::Test::HasFailure()) return;
      ++steps_;
    }
  }
  int steps() const { return steps_; }

 private:
  RingReader& reader(const std::string& name, bool conflate = false) {
    auto& slot = readers_[name];
    if (!slot) {
      slot = std::make_unique<RingReader>(memory_.view(), uid_of(name), conflate,
                                          std::function<void(uint64_t)>());
    }
    return *slot;
  }

  uint64_t uid_of(const std::string& name) {
    const auto found = uids_.find(name);
    if (found != uids_.end()) return found->second;
    return uids_.emplace(name, 0xabcd00000000 + uids_.size() + 1).first->second;
  }

  void open_publisher(const std::string& name) {
    writers_.emplace(name, RingWriter(memory_.view(), uid_of(name)));
    writers_.at(name).take_over();
  }

  void send(const json& step) {
    const std::string by = step.value("by", "publisher0");
    const auto payload = payload_of(step["message_index"], step["size"]);
    const Status sent = writers_.at(by).send(payload);
    const int64_t returned = step.value("returned", static_cast<int64_t>(payload.size()));
    EXPECT_EQ(sent.ok(), returned >= 0);
    if (!sent.ok()) {
      EXPECT_EQ(sent.error().code, ErrorCode::kRefused);
    }
  }

  void receive(const json& step, const std::string& name, int limit) {
    const json expected = step.value("received", json::array());
    json received = json::array();
    while (static_cast<int>(received.size()) < limit) {
      const auto message = reader(name).receive();
      if (!message) break;
      received.push_back({{"size", message->size()},
                          {"first_byte", static_cast<int>((*message)[0])},
                          {"fnv1a32", fnv1a32(*message)}});
    }
    EXPECT_EQ(received, expected);
  }

  void act(const json& step) {
    const auto op = step["op"].get<std::string>();
    const bool conflate = op.find("conflate") != std::string::npos;
    if (op == "15 subscribers connected") {
      open_publisher("publisher0");
      for (int i = 0; i < 15; ++i) reader("sub" + std::to_string(i)).enter();
      return;
    }
    if (op.rfind("16th subscriber", 0) == 0) return reader("sub15").enter();
    if (op.rfind("publisher", 0) == 0) {
      return open_publisher(op.find("publisher1") == 0 ? "publisher1" : "publisher0");
    }
    if (op.rfind("send", 0) == 0) send(step);
    std::smatch who;
    if (!std::regex_search(op, who, std::regex("sub[A-Z0-9]+"))) return;
    if (op.find("connects") != std::string::npos) reader(who.str(), conflate).enter();
    if (op.find("receives") == std::string::npos) return;
    std::smatch limit;
    const bool limited = std::regex_search(op, limit, std::regex("limit ([0-9]+)"));
    receive(step, who.str(), limited ? std::stoi(limit[1]) : kAll);
  }

  // Every word of the file, but for the uids, whose owners are compared instead.
  void compare(const json& step) {
    const size_t at = step["snapshot"]["offset"];
    const size_t bytes = step["snapshot"]["bytes"];
    ASSERT_EQ(bytes, memory_.bytes().size());
    ASSERT_LE(at + bytes, snapshots_.size());
    std::vector<uint64_t> expected(bytes / 8);
    std::memcpy(expected.data(), snapshots_.data() + at, bytes);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i == 2 || (i >= 33 && i < 48)) {
        EXPECT_EQ(memory_.words()[i] == 0, expected[i] == 0) << "word " << i;
      } else {
        EXPECT_EQ(memory_.words()[i], expected[i]) << "word " << i;
      }
    }
    for (const json& each : step["readers"]) {
      auto role = each["uid"].get<std::string>();
      if (role == "0") continue;
      role = role.substr(0, role.find_first_of("'_"));
      EXPECT_EQ(memory_.words()[33 + each["slot"].get<size_t>()], uid_of(role));
    }
  }

  json script_;
  std::vector<std::byte> snapshots_;
  RingMemory memory_;
  std::map<std::string, uint64_t> uids_;
  std::map<std::string, RingWriter> writers_;
  std::map<std::string, std::unique_ptr<RingReader>> readers_;
  int steps_ = 0;
};

class RingVectors : public testing::TestWithParam<std::string> {};

TEST_P(RingVectors, SameMessagesAndSameBytes) {
  MODELD_NEED_SHARED("data/vectors/wire/" + GetParam() + ".json");
  Recording recording(GetParam());
  recording.play();
  EXPECT_GT(recording.steps(), 10);
}

INSTANTIATE_TEST_SUITE_P(Recordings, RingVectors,
                         testing::Values("ring_no_reader", "ring_readers", "ring_eviction"),
                         [](const auto& name) { return name.param; });

// The notifications of a stock camera server, straight out of its ring.
TEST(RingVectors, NotificationRingDecodes) {
  MODELD_NEED_SHARED("data/vectors/wire/vipc_notification_ring_first_1024_bytes.bin");
  const auto start = read_vector("vipc_notification_ring_first_1024_bytes.bin");
  const auto expected = read_vector("vipc_notifications.bin");
  ASSERT_EQ(start.size(), 1024u);
  RingMemory memory(1 << 20);
  std::memcpy(memory.bytes().data(), start.data(), start.size());
  RingReader reader(memory.view(), 7, false, {});
  const auto write = RingPosition::unpack(memory.view().write_pointer().load());
  ASSERT_EQ(write, (RingPosition{0, 7 * 56}));
  // As if it had been there from the beginning.
  memory.view().write_pointer().store(0);
  reader.enter();
  memory.view().write_pointer().store(write.pack());
  for (size_t k = 0; k < 7; ++k) {
    const auto message = reader.receive();
    ASSERT_TRUE(message.has_value()) << k;
    ASSERT_EQ(message->size(), 48u);
    EXPECT_EQ(std::memcmp(message->data(), expected.data() + 48 * k, 48), 0) << k;
  }
  EXPECT_FALSE(reader.receive().has_value());
}

}  // namespace
}  // namespace modeld::ipc
