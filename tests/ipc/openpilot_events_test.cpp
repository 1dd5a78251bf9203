// Every event of the recorded streams, decoded with our schema: counts and kinds as the streams'
// own manifest states them (it was made with the 2021-08 schema), values within physical sense.
#include <bzlib.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ipc/schema/event_log.h"
#include "ipc/schema/read_message.h"
#include "runtime/base/file.h"
#include "tests/support/test_data.h"

namespace modeld::ipc {
namespace {

using modeld::test::shared_path;

constexpr size_t kAllEvents = 370507;

// Names of the manifest's schema to today's tags (facts 3.3); members that were renamed, deprecated
// or, like driverMonitoringState and liveTracks, gave their name to a newer member.
const std::map<std::string, uint16_t> kOldTags = {
    {"liveCalibration", 18}, {"sendcan", 16},
    {"controlsState", 6},    {"carState", 21},
    {"carControl", 22},      {"carEvents", 66},
    {"carParams", 67},       {"driverMonitoringState", 69},
    {"lateralPlan", 63},     {"longitudinalPlan", 23},
    {"radarState", 12},      {"liveTracks", 15},
};

struct ManifestRow {
  std::string file;
  size_t unpacked = 0;
  size_t messages = 0;
  std::map<uint16_t, size_t> kinds;
};

std::vector<ManifestRow> read_manifest() {
  std::ifstream in(shared_path("data/openpilot-events/MANIFEST.tsv"));
  std::vector<ManifestRow> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    ManifestRow row;
    std::string packed, unpacked, messages, kinds, kind;
    std::getline(fields, row.file, '\t');
    std::getline(fields, packed, '\t');
    std::getline(fields, unpacked, '\t');
    std::getline(fields, messages, '\t');
    std::getline(fields, kinds, '\t');
    row.unpacked = std::stoul(unpacked);
    row.messages = std::stoul(messages);
    std::istringstream list(kinds);
    while (list >> kind) {
      const auto colon = kind.find(':');
      row.kinds[kOldTags.at(kind.substr(0, colon))] = std::stoul(kind.substr(colon + 1));
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::byte> unpack(const ManifestRow& row) {
  const auto packed = read_file(shared_path("data/openpilot-events/" + row.file), 64 << 20);
  EXPECT_TRUE(packed.ok());
  std::vector<std::byte> unpacked(row.unpacked + 1);
  auto size = static_cast<unsigned>(unpacked.size());
  EXPECT_EQ(
      BZ2_bzBuffToBuffDecompress(reinterpret_cast<char*>(unpacked.data()), &size,
                                 reinterpret_cast<char*>(const_cast<std::byte*>(packed->data())),
                                 static_cast<unsigned>(packed->size()), 0, 0),
      BZ_OK);
  EXPECT_EQ(size, row.unpacked);
  unpacked.resize(size);
  return unpacked;
}

void check_calibration(wire::ExtrinsicsCalibration::Reader calibration) {
  EXPECT_GE(calibration.getCalPerc(), 0);
  EXPECT_LE(calibration.getCalPerc(), 100);
  EXPECT_GE(calibration.getValidBlocks(), 0);
  EXPECT_LE(calibration.getValidBlocks(), 1000);
  const auto rpy = calibration.getRpyCalib();
  ASSERT_EQ(rpy.size(), 3u);
  // A camera behind a wind screen looks ahead: far less than a radian off on every axis.
  for (const float angle : rpy) EXPECT_LT(std::abs(angle), 0.3f);
  EXPECT_EQ(calibration.getExtrinsicMatrix().size(), 12u);
}

void check_car_state(wire::CarState::Reader car, std::set<float>& speeds) {
  EXPECT_TRUE(std::isfinite(car.getVEgo()));
  EXPECT_GT(car.getVEgo(), -5.0f);
  EXPECT_LT(car.getVEgo(), 60.0f);
  EXPECT_LT(std::abs(car.getSteeringAngleDeg()), 720.0f);
  EXPECT_LE(static_cast<int>(car.getGearShifter()), 9);
  const auto wheels = car.getWheelSpeeds();
  for (const float wheel : {wheels.getFl(), wheels.getFr(), wheels.getRl(), wheels.getRr()}) {
    EXPECT_GE(wheel, 0.0f);
    EXPECT_LT(wheel, 70.0f);
  }
  speeds.insert(car.getVEgo());
}

TEST(OpenpilotEvents, AllDecodeWithCountsAndKindsOfTheManifest) {
  MODELD_NEED_SHARED("data/openpilot-events/MANIFEST.tsv");
  MessageReader reader;
  size_t all = 0;
  std::set<float> speeds;
  std::set<std::string> cars;
  size_t calibrations = 0;
  for (const ManifestRow& row : read_manifest()) {
    SCOPED_TRACE(row.file);
    const auto unpacked = unpack(row);
    EventLog log(unpacked);
    std::map<uint16_t, size_t> kinds;
    while (true) {
      const auto message = log.next();
      if (!message) break;
      const auto status = read_event(reader, *message, [&](wire::Event::Reader event) {
        EXPECT_GT(event.getLogMonoTime(), 0u);
        ++kinds[static_cast<uint16_t>(event.which())];
        if (event.isExtrinsicsCalibration()) {
          check_calibration(event.getExtrinsicsCalibration());
          ++calibrations;
        } else if (event.isCarState()) {
          check_car_state(event.getCarState(), speeds);
        } else if (event.isCarParams()) {
          cars.insert(event.getCarParams().getCarFingerprint());
          EXPECT_GT(event.getCarParams().getWheelbase(), 2.0f);
          EXPECT_LT(event.getCarParams().getWheelbase(), 4.5f);
          EXPECT_GT(event.getCarParams().getSteerRatio(), 8.0f);
          EXPECT_LT(event.getCarParams().getSteerRatio(), 25.0f);
        } else if (event.isSendcan()) {
          for (const auto frame : event.getSendcan()) EXPECT_LE(frame.getDat().size(), 8u);
        }
      });
      ASSERT_TRUE(status.ok()) << to_string(status.error());
    }
    EXPECT_EQ(log.losses().truncated_bytes, 0u);
    EXPECT_EQ(log.messages(), row.messages);
    EXPECT_EQ(kinds, row.kinds);
    all += log.messages();
  }
  EXPECT_EQ(all, kAllEvents);
  EXPECT_GT(calibrations, 2000u);
  EXPECT_GT(speeds.size(), 10000u) << "speeds must vary";
  EXPECT_GT(*speeds.rbegin(), 20.0f) << "somebody drove on a highway";
  EXPECT_EQ(cars.size(), 10u);
}

}  // namespace
}  // namespace modeld::ipc
