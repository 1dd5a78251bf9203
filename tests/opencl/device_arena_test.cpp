#include "runtime/opencl/device_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "runtime/opencl/opencl_device.h"
#include "tests/support/cl_layer.h"
#include "tests/support/program_builder.h"

namespace modeld::opencl {
namespace {

using test::ClLayer;
using test::ProgramBuilder;
using Piece = DeviceArena::Piece;

constexpr uint64_t kBlock = DeviceArena::kBlockBytes;

class DeviceArenaTest : public testing::Test {
 protected:
  void SetUp() override {
    ClLayer::reset();
    const Discovered found = discover_devices(ClLayer::calls());
    DeviceWish wish;
    wish.software = true;
    const auto chosen = select_device(found.devices, wish);
    ASSERT_TRUE(chosen.ok()) << to_string(chosen.error());
    info_ = found.devices[*chosen];
  }

  std::shared_ptr<DeviceArena> arena() {
    auto session = Session::open(ClLayer::calls(), info_, default_traits(info_), {});
    EXPECT_TRUE(session.ok());
    session_ = *session;
    return DeviceArena::make(session_);
  }

  Status fill(const Piece& piece, uint32_t value, uint64_t bytes) {
    return cl_status(
        "fill", session_->calls().EnqueueFillBuffer(session_->queue(), piece.get(), &value,
                                                    sizeof value, 0, bytes, 0, nullptr, nullptr));
  }

  // True if every word of the piece is `value`.
  bool holds(const Piece& piece, uint32_t value, uint64_t bytes) {
    std::vector<uint32_t> words(bytes / sizeof value);
    EXPECT_EQ(session_->calls().EnqueueReadBuffer(session_->queue(), piece.get(), CL_TRUE, 0, bytes,
                                                  words.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    return std::count(words.begin(), words.end(), value) == std::ssize(words);
  }

  DeviceInfo info_;
  SessionPointer session_;
};

TEST_F(DeviceArenaTest, PiecesInUseNeverShareMemory) {
  const auto arena = this->arena();
  struct Held {
    Piece piece;
    uint64_t bytes;
  };
  std::map<uint32_t, Held> held;
  std::mt19937_64 random(7);
  for (uint32_t step = 1; step <= 300; ++step) {
    if (random() % 5 < 3 || held.empty()) {
      const uint64_t bytes = 4 * (1 + random() % (1u << random() % 19));
      auto piece = arena->take(bytes);
      ASSERT_TRUE(piece.ok()) << to_string(piece.error());
      ASSERT_TRUE(fill(*piece, step, bytes).ok());
      held.emplace(step, Held{std::move(piece).value(), bytes});
    } else {
      const auto which = std::next(held.begin(), static_cast<long>(random() % held.size()));
      EXPECT_TRUE(holds(which->second.piece, which->first, which->second.bytes)) << step;
      held.erase(which);
    }
  }
  for (const auto& [value, one] : held) EXPECT_TRUE(holds(one.piece, value, one.bytes)) << value;
  EXPECT_LT(ClLayer::count("CreateBuffer"), ClLayer::count("CreateSubBuffer") / 10);
  held.clear();
  EXPECT_EQ(arena->use().in_use, 0u);
  EXPECT_EQ(arena->use().reserved, 0u);
  EXPECT_GT(arena->use().most_in_use, 0u);
}

TEST_F(DeviceArenaTest, GrowsByBlocksAndGivesThemBack) {
  const auto arena = this->arena();
  auto first = arena->take(kBlock / 2 + 1);
  auto second = arena->take(kBlock / 2 + 1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(arena->use().blocks, 2u);
  auto third = arena->take(1000);  // fits behind the first
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(arena->use().blocks, 2u);
  EXPECT_EQ(arena->use().reserved, 2 * kBlock);
  *second = Piece();
  EXPECT_EQ(arena->use().blocks, 1u);
  auto large = arena->take(kBlock + 12345);  // alone, no more than it needs
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(arena->use().reserved, 2 * kBlock + 12345);
  for (auto* piece : {&large, &first, &third}) **piece = Piece();
  EXPECT_EQ(arena->use().reserved, 0u);
  EXPECT_EQ(arena->use().most_reserved, 2 * kBlock + 12345);
}

TEST_F(DeviceArenaTest, RefusesWhatTheDeviceForbids) {
  info_.max_allocation = 1 << 20;
  const auto arena = this->arena();
  for (const uint64_t bytes : {uint64_t{(1 << 20) + 1}, UINT64_MAX, UINT64_MAX - 4095}) {
    const auto piece = arena->take(bytes);
    ASSERT_FALSE(piece.ok()) << bytes;
    EXPECT_EQ(piece.error().code, ErrorCode::kExhausted);
  }
  EXPECT_EQ(arena->use().most_reserved, 0u);
  auto piece = arena->take(1000);
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(arena->use().reserved, 1u << 20) << "a block is no larger than the device allows";
}

TEST_F(DeviceArenaTest, WithoutAKnownAlignmentEveryPieceHasItsOwnBuffer) {
  for (const uint32_t bits : {0u, 7u, 1000u}) {
    ClLayer::reset();
    info_.base_align_bits = bits;
    const auto arena = this->arena();
    EXPECT_NE(arena->not_shared_because().find(std::to_string(bits)), std::string::npos);
    auto first = arena->take(100);
    auto second = arena->take(0);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(ClLayer::count("CreateSubBuffer"), 0u);
    EXPECT_EQ(arena->use().reserved, 101u) << "0 bytes become 1";
  }
}

TEST_F(DeviceArenaTest, WhereABlockCannotBeHadTheRequestAloneMay) {
  const auto arena = this->arena();
  ClLayer::fail_function("CreateBuffer", 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  const auto piece = arena->take(1000);
  ASSERT_TRUE(piece.ok()) << to_string(piece.error());
  EXPECT_EQ(arena->use().reserved, 1000u);
}

TEST_F(DeviceArenaTest, AFailedStepLeavesEverythingAsItWas) {
  for (const char* function : {"CreateBuffer", "CreateSubBuffer"}) {
    const auto arena = this->arena();
    auto kept = arena->take(kBlock - 5000);
    ASSERT_TRUE(kept.ok());
    const ArenaUse before = arena->use();
    const int64_t live = ClLayer::live_objects();
    for (const uint64_t bytes : {uint64_t{9000}, kBlock - 1, kBlock, uint64_t{100}}) {
      // Pieces that need no new buffer, or no sub-buffer, do not meet the failure.
      const bool meets = std::string(function) == "CreateBuffer" ? bytes > 5000 : bytes < kBlock;
      if (!meets) continue;
      ClLayer::fail_function(function, ClLayer::count(function), CL_OUT_OF_RESOURCES);
      const auto piece = arena->take(bytes);
      ASSERT_FALSE(piece.ok()) << function << " " << bytes;
      EXPECT_NE(to_string(piece.error()).find(function), std::string::npos);
      EXPECT_EQ(ClLayer::live_objects(), live) << function << " " << bytes;
      EXPECT_EQ(arena->use().in_use, before.in_use);
      EXPECT_EQ(arena->use().reserved, before.reserved);
    }
    ClLayer::fail_call(UINT64_MAX, CL_SUCCESS);
    EXPECT_TRUE(arena->take(100).ok());
  }
}

TEST_F(DeviceArenaTest, PiecesOutliveWhoMadeThem) {
  auto arena = this->arena();
  auto piece = arena->take(4000);
  ASSERT_TRUE(piece.ok());
  arena.reset();
  EXPECT_TRUE(fill(*piece, 3, 4000).ok());
  EXPECT_TRUE(holds(*piece, 3, 4000));
  *piece = Piece();
  session_.reset();
  EXPECT_EQ(ClLayer::live_objects(), 0);
}

ProgramBuilder counter(int64_t width) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {width}});
  const TensorId s = builder.state("s", {DType::kFloat32, {width}});
  const TensorId sum = builder.op(OpKind::kAdd, {x, s});
  builder.feed_back(s, sum);
  builder.output(builder.op(OpKind::kNeg, {sum}), "out");
  return builder;
}

// One frame of ones; what the first output's first element says.
float frame(Capture& capture) {
  const auto staging = capture.staging(0);
  const std::vector<float> ones(staging.size() / sizeof(float), 1);
  std::memcpy(staging.data(), ones.data(), staging.size());
  const auto submission = capture.replay();
  EXPECT_TRUE(submission.ok());
  EXPECT_TRUE((*submission)->wait(Deadline::after(Clock::real(), 20 * kSecond)).ok());
  EXPECT_TRUE(capture.commit().ok());
  float value = 0;
  std::memcpy(&value, capture.output(0).data(), sizeof value);
  return value;
}

// Captures side by side in one block, loaded, unloaded and loaded again: each counts its own
// frames, what goes gives everything back, and frames take nothing.
TEST_F(DeviceArenaTest, CapturesComeAndGoInOneArena) {
  OpenOptions options;
  options.wish.software = true;
  options.calls = &ClLayer::calls();
  auto device = open_device(options);
  ASSERT_TRUE(device.ok());
  const auto load = [&](const ProgramBuilder& builder) {
    MemoryWeights weights = builder.weights();
    auto capture = (*device)->record(builder.program(), weights, {});
    EXPECT_TRUE(capture.ok());
    return std::move(capture).value();
  };
  const uint64_t buffers = ClLayer::count("CreateBuffer");
  const ProgramBuilder small = counter(10);
  const ProgramBuilder large = counter(30000);
  auto kept = load(small);
  EXPECT_EQ(frame(*kept), -1);
  int64_t live = 0;
  for (int round = 0; round < 4; ++round) {
    auto next = load(round % 2 == 0 ? large : small);
    EXPECT_EQ(frame(*next), -1) << "memory of the capture before is no state of this one";
    EXPECT_EQ(frame(*kept), static_cast<float>(-2 - 2 * round));
    EXPECT_EQ(frame(*next), -2);
    const uint64_t taken = ClLayer::count("CreateBuffer") + ClLayer::count("CreateSubBuffer");
    EXPECT_EQ(frame(*kept), static_cast<float>(-3 - 2 * round));
    EXPECT_EQ(ClLayer::count("CreateBuffer") + ClLayer::count("CreateSubBuffer"), taken);
    next.reset();
    // The device keeps the programs it built.
    if (round == 0) live = ClLayer::live_objects();
    EXPECT_EQ(ClLayer::live_objects(), live) << round;
  }
  EXPECT_EQ(ClLayer::count("CreateBuffer"), buffers + 1) << "one block for all of them";
  kept.reset();
  device->reset();
  EXPECT_EQ(ClLayer::live_objects(), 0);
}

}  // namespace
}  // namespace modeld::opencl
