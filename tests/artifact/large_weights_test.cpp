// Weights of several blocks: verified one by one, in little memory.
#include <gmock/gmock.h>

#include <fstream>

#include "runtime/base/sanitized.h"
#include "tests/artifact/artifact_test_support.h"

namespace modeld::test {
namespace {

constexpr uint64_t kBlock = uint64_t{32} << 20;
constexpr uint64_t kSize = 4 * kBlock + 12'345;  // a last block that is not full

std::byte expected_byte(uint64_t at) {
  return std::byte((at >> 12) * 7 + 1);
}

// Made on the fly, so that writing the file needs no copy of it.
class GeneratedWeights final : public WeightSource {
 public:
  uint64_t size() const override { return kSize; }
  Status read(uint64_t offset, std::span<std::byte> out) override {
    for (size_t i = 0; i < out.size(); ++i) out[i] = expected_byte(offset + i);
    return {};
  }
};

class LargeWeightsTest : public ArtifactTest {
 protected:
  LargeWeightsTest() {
    Model model = tiny_model();
    model.weights = std::make_shared<GeneratedWeights>();
    write(model);
  }

  void flip(uint64_t weight_offset) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(0, std::ios::end);
    const auto at = static_cast<std::streamoff>(file.tellg()) -
                    static_cast<std::streamoff>(kSize - weight_offset);
    file.seekp(at);
    const char altered = static_cast<char>(expected_byte(weight_offset)) ^ 4;
    file.write(&altered, 1);
    file.close();
    ASSERT_TRUE(file.good());
  }
};

// Kilobytes of a line of /proc/self/status.
long status_kb(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stol(line.substr(key.size() + 1));
  }
  return -1;
}

TEST_F(LargeWeightsTest, ReadsAcrossBlocks) {
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok()) << to_string(artifact.error());
  ASSERT_EQ(artifact->model().weights->size(), kSize);
  for (const uint64_t start : {uint64_t{0}, kBlock - 100, 2 * kBlock - 1, kSize - 200}) {
    std::vector<std::byte> found(200);
    ASSERT_TRUE(artifact->model().weights->read(start, found).ok());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected_byte(start + i));
  }
  std::vector<std::byte> beyond(200);
  const Status status = artifact->model().weights->read(kSize - 199, beyond);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_FALSE(artifact->model().weights->read(~uint64_t{0}, beyond).ok());
}

TEST_F(LargeWeightsTest, OnlyTheDamagedBlockIsRefused) {
  flip(2 * kBlock + 77);
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok());
  std::byte one{};
  EXPECT_TRUE(artifact->model().weights->read(2 * kBlock - 1, {&one, 1}).ok());
  const Status status = artifact->model().weights->read(2 * kBlock, {&one, 1});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_THAT(to_string(status.error()), testing::HasSubstr("weight block 2 was altered"));
  EXPECT_TRUE(artifact->model().weights->read(3 * kBlock, {&one, 1}).ok());
  // Not refusal(): how long 96 MiB take to hash is the machine's affair.
  EXPECT_FALSE(load().ok());
}

TEST_F(LargeWeightsTest, VerifyingNeedsOneBlockOfMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  std::ofstream("/proc/self/clear_refs") << "5";  // peak := current
  const long before = status_kb("VmRSS");
  ASSERT_TRUE(load().ok());
  const long grown = status_kb("VmHWM") - before;
  RecordProperty("peak_growth_kb", std::to_string(grown));
  EXPECT_GT(grown, 0);
  EXPECT_LT(grown, 40 * 1024) << "the file has " << kSize / 1024 << " KiB";
}

}  // namespace
}  // namespace modeld::test
