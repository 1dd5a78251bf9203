#include "tests/daemon/message_vectors.h"

#include <capnp/dynamic.h>
#include <gtest/gtest.h>

#include <vector>

#include "ipc/schema/read_message.h"

namespace modeld::test {
namespace {

using capnp::DynamicEnum;
using capnp::DynamicList;
using capnp::DynamicStruct;
using capnp::DynamicValue;

double to_number(const DynamicValue::Reader& value) {
  switch (value.getType()) {
    case DynamicValue::BOOL:
      return value.as<bool>() ? 1.0 : 0.0;
    case DynamicValue::ENUM:
      return value.as<DynamicEnum>().getRaw();
    default:
      return value.as<double>();
  }
}

// The value at "a.b.0.c" below `root`; numbers are list indices.
DynamicValue::Reader walk(DynamicValue::Reader value, std::string path) {
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const std::string part = path.substr(0, dot);
    path = dot == std::string::npos ? "" : path.substr(dot + 1);
    if (value.getType() == DynamicValue::LIST) {
      value = value.as<DynamicList>()[static_cast<uint32_t>(std::stoul(part))];
    } else {
      value = value.as<DynamicStruct>().get(part);
    }
  }
  return value;
}

std::vector<double> numbers_of(const DynamicValue::Reader& value) {
  std::vector<double> numbers;
  if (value.getType() != DynamicValue::LIST) return {to_number(value)};
  for (const DynamicValue::Reader item : value.as<DynamicList>()) {
    numbers.push_back(to_number(item));
  }
  return numbers;
}

std::vector<double> row_of(const Npz& npz, const std::string& name, size_t row) {
  const auto convert = [](auto values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (npz.array(name).type) {
    case NpyType::kF4:
      return convert(npz.row<float>(name, row));
    case NpyType::kF8:
      return convert(npz.row<double>(name, row));
    case NpyType::kI8:
      return convert(npz.row<int64_t>(name, row));
    default:
      return convert(npz.row<uint8_t>(name, row));
  }
}

}  // namespace

size_t expect_message(const Npz& npz, const std::string& message, size_t row,
                      std::span<const std::byte> bytes, const Close& close) {
  const std::string prefix = "out." + message + ".";
  size_t compared = 0;
  ipc::MessageReader reader;
  const Status status = ipc::read_event(reader, bytes, [&](wire::Event::Reader event) {
    const DynamicStruct::Reader root(event);
    for (const auto& [name, array] : npz.arrays()) {
      if (!name.starts_with(prefix)) continue;
      const std::string field = name.substr(prefix.size());
      const auto have = numbers_of(walk(root, field == "valid" ? field : message + "." + field));
      const auto want = row_of(npz, name, row);
      ++compared;
      EXPECT_EQ(have.size(), want.size()) << name << " row " << row;
      for (size_t i = 0; i < std::min(have.size(), want.size()); ++i) {
        EXPECT_TRUE(close(field, have[i], want[i]))
            << name << " row " << row << " entry " << i << ": " << have[i] << " for " << want[i];
      }
    }
  });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : to_string(status.error()));
  return compared;
}

}  // namespace modeld::test
