#include "daemon/inputs/car_params.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "ipc/schema/car.capnp.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

class CarParamsTest : public testing::Test {
 protected:
  void write(float delay, size_t keep = SIZE_MAX) {
    capnp::MallocMessageBuilder builder;
    auto params = builder.initRoot<wire::CarParams>();
    params.setBrand("toyota");
    params.setLongitudinalActuatorDelay(delay);
    const auto words = capnp::messageToFlatArray(builder);
    std::ofstream file(folder_ / "CarParams", std::ios::binary);
    file.write(reinterpret_cast<const char*>(words.asBytes().begin()),
               static_cast<std::streamsize>(std::min(keep, words.asBytes().size())));
  }
  const test::TempDir made_;
  const std::filesystem::path folder_ = made_.path();
};

TEST_F(CarParamsTest, NothingWhileTheFileIsMissing) {
  auto read = read_car_params(folder_);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->has_value());
}

TEST_F(CarParamsTest, ReadsWhatTheModelNeeds) {
  write(0.25f);
  auto read = read_car_params(folder_);
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->longitudinal_actuator_delay, 0.25f);
  EXPECT_EQ((*read)->brand, "toyota");
}

TEST_F(CarParamsTest, BrokenFilesAreErrorsThatNameTheFile) {
  for (const float delay : {-0.1f, 10.5f, std::numeric_limits<float>::quiet_NaN()}) {
    write(delay);
    auto read = read_car_params(folder_);
    ASSERT_FALSE(read.ok()) << delay;
    EXPECT_NE(to_string(read.error()).find("CarParams"), std::string::npos);
  }
  for (size_t keep = 0; keep < 64; keep += 5) {
    write(0.2f, keep);
    EXPECT_FALSE(read_car_params(folder_).ok()) << keep;
  }
}

}  // namespace
}  // namespace modeld
