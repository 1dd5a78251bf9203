// Which device is taken, without one.
#include "runtime/opencl/select_device.h"

#include <gtest/gtest.h>

#include "runtime/opencl/render_nodes.h"
#include "runtime/opencl/traits.h"

namespace modeld::opencl {
namespace {

DeviceInfo device(const std::string& name, cl_device_type type, uint32_t units = 8) {
  DeviceInfo info;
  info.platform_name = "Platform";
  info.name = name;
  info.version = "OpenCL 1.2 something";
  info.profile = "FULL_PROFILE";
  info.type = type;
  info.available = info.compiler = info.little_endian = true;
  info.compute_units = units;
  return info;
}

const DeviceInfo kSoft = device("soft", CL_DEVICE_TYPE_CPU, 64);
const DeviceInfo kSmall = device("small", CL_DEVICE_TYPE_GPU, 4);
const DeviceInfo kLarge = device("large", CL_DEVICE_TYPE_GPU, 40);
const DeviceInfo kChip = device("chip", CL_DEVICE_TYPE_ACCELERATOR, 100);

size_t chosen(const std::vector<DeviceInfo>& devices, const DeviceWish& wish) {
  const auto found = select_device(devices, wish);
  EXPECT_TRUE(found.ok()) << to_string(found.error());
  return found.ok() ? *found : 999;
}

TEST(SelectDevice, GpuBeforeAcceleratorBeforeSoftware) {
  EXPECT_EQ(chosen({kSoft, kChip, kSmall}, {"", true}), 2u);
  EXPECT_EQ(chosen({kSoft, kChip}, {"", true}), 1u);
  EXPECT_EQ(chosen({kSoft}, {"", true}), 0u);
}

TEST(SelectDevice, MoreComputeUnitsThenTheFirst) {
  EXPECT_EQ(chosen({kSmall, kLarge}, {}), 1u);
  EXPECT_EQ(chosen({kLarge, kLarge}, {}), 0u);
}

TEST(SelectDevice, FieldFault32SoftwareOnlyOnRequest) {
  const auto found = select_device(std::vector{kSoft}, {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_NE(found.error().found.find("soft: a software device"), std::string::npos);
}

TEST(SelectDevice, ByPartOfTheName) {
  EXPECT_EQ(chosen({kLarge, kSmall}, {"small"}), 1u);
  EXPECT_EQ(chosen({kLarge, kSmall}, {"Platform: small"}), 1u);
  const auto none = select_device(std::vector{kLarge}, {"mali"});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().expected.find("mali"), std::string::npos);
  EXPECT_NE(none.error().found.find("large: another name"), std::string::npos);
}

TEST(SelectDevice, NothingAtAll) {
  const auto none = select_device({}, {"", true});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().found, "none at all");
}

TEST(SelectDevice, UnusableDevicesAreNamedWithTheReason) {
  const auto broken = [](auto change) {
    DeviceInfo info = kLarge;
    change(info);
    return unusable_because(info);
  };
  EXPECT_EQ(unusable_because(kLarge), "");
  EXPECT_EQ(broken([](DeviceInfo& d) { d.available = false; }), "not available");
  EXPECT_EQ(broken([](DeviceInfo& d) { d.compiler = false; }), "no compiler");
  EXPECT_EQ(broken([](DeviceInfo& d) { d.little_endian = false; }), "big-endian memory");
  EXPECT_NE(broken([](DeviceInfo& d) { d.profile = "EMBEDDED_PROFILE"; }), "");
  for (const char* version : {"OpenCL 1.1 x", "OpenCL 1", "OpenCL x", "", "1.2"}) {
    EXPECT_NE(broken([&](DeviceInfo& d) { d.version = version; }), "") << version;
  }
  for (const char* version : {"OpenCL 1.2 x", "OpenCL 2.0 x", "OpenCL 3.0 PoCL", "OpenCL 1.20"}) {
    EXPECT_EQ(broken([&](DeviceInfo& d) { d.version = version; }), "") << version;
  }
}

TEST(DeviceInfo, ExtensionsAreWholeWords) {
  DeviceInfo info;
  info.extensions = "cl_khr_fp16 cl_khr_fp64_more";
  EXPECT_TRUE(info.has_extension("cl_khr_fp16"));
  EXPECT_FALSE(info.has_extension("cl_khr_fp64"));
  EXPECT_FALSE(info.has_extension("cl_khr"));
}

TEST(RenderNodes, FoundByPciAddress) {
  RenderNode node;
  node.path = "/dev/dri/renderD129";
  node.pci = PciAddress{0, 3, 0, 0};
  DeviceInfo info = kLarge;
  EXPECT_EQ(node_of(info, {node}), nullptr);
  info.pci = PciAddress{0, 3, 0, 0};
  RenderNode other = node;
  other.pci = PciAddress{0, 4, 0, 0};
  const std::vector<RenderNode> nodes{other, node};
  ASSERT_NE(node_of(info, nodes), nullptr);
  EXPECT_EQ(node_of(info, nodes)->path, "/dev/dri/renderD129");
  EXPECT_EQ(to_string(*info.pci), "0000:03:00.0");
}

TEST(Traits, DefaultsFollowTheDeviceClass) {
  DeviceInfo soft = kSoft;
  soft.float_vector_width = 16;
  EXPECT_EQ(default_traits(soft).vector, 16u);
  EXPECT_EQ(default_traits(soft).group, 1u);
  EXPECT_FALSE(default_traits(soft).store_half);
  soft.float_vector_width = 1;
  EXPECT_EQ(default_traits(soft).vector, 4u);
  EXPECT_GT(default_traits(kLarge).group, 1u);
  EXPECT_TRUE(default_traits(kLarge).store_half);
}

TEST(Traits, DivisionIsWhatTheDeviceCan) {
  DeviceInfo info = kLarge;
  EXPECT_EQ(default_traits(info).division, Division::kIntegers);
  info.double_config = CL_FP_FMA;
  EXPECT_EQ(default_traits(info).division, Division::kDouble);
  info.single_config = CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  EXPECT_EQ(default_traits(info).division, Division::kNative);
}

}  // namespace
}  // namespace modeld::opencl
