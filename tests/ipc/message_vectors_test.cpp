// Messages the real schema wrote, compared with ours field by field through schema reflection:
// every field that our schema names and the vector sets must hold the vector's value, and every
// field that the vector leaves out must be unset.
#include <capnp/dynamic.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/schema/event_log.h"
#include "ipc/schema/framing.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"
#include "runtime/base/file.h"
#include "tests/support/test_data.h"

namespace modeld::ipc {
namespace {

using modeld::test::shared_path;
using Json = nlohmann::json;

// How much was compared, so that a comparison that silently skips everything fails.
struct Tally {
  size_t values = 0;    // scalars, texts and blobs found equal
  size_t reserved = 0;  // members we keep no type for
  size_t unnamed = 0;   // members of the vector that our schema does not name
};

class Comparer {
 public:
  explicit Comparer(Tally& tally) : tally_(tally) {}

  void compare_struct(const Json& want, capnp::DynamicStruct::Reader have,
                      const std::string& where) {
    const Json flat = flatten(want);
    std::set<std::string> named;
    for (const auto& [name, value] : flat.items()) {
      const auto field = find(have.getSchema(), name);
      if (!field) {
        ++tally_.unnamed;
        continue;
      }
      const std::string our_name = field->getProto().getName();
      named.insert(our_name);
      compare(value, have.get(*field), where + "." + name, our_name);
    }
    for (const auto field : have.getSchema().getNonUnionFields()) {
      const std::string name = field.getProto().getName();
      if (named.count(name) != 0 || !field.getProto().isSlot()) continue;
      if (name.starts_with("reserved")) continue;  // set, but not ours to name
      expect_unset(have, field, where + "." + name);
    }
  }

 private:
  // Newer schemas keep deprecated fields in a group of their own.
  static Json flatten(const Json& object) {
    Json flat = object;
    if (flat.contains("deprecated")) {
      const Json deprecated = flat["deprecated"];
      flat.erase("deprecated");
      // Two names are used again by a newer field; ours call the deprecated one ...Old.
      for (const auto& [name, value] : deprecated.items()) {
        flat[flat.contains(name) ? name + "Old" : name] = value;
      }
    }
    return flat;
  }

  static kj::Maybe<capnp::StructSchema::Field> lookup(capnp::StructSchema schema,
                                                      const std::string& name) {
    return schema.findFieldByName(name);
  }

  static std::optional<capnp::StructSchema::Field> find(capnp::StructSchema schema,
                                                        const std::string& name) {
    for (const std::string& candidate : {name, name + "Old", name + "DEPRECATED"}) {
      KJ_IF_MAYBE (field, lookup(schema, candidate)) {
        return *field;
      }
    }
    return std::nullopt;
  }

  // A float that was not set reads 0 and a list that was not set is empty.
  static void expect_unset(capnp::DynamicStruct::Reader have, capnp::StructSchema::Field field,
                           const std::string& where) {
    EXPECT_FALSE(have.has(field, capnp::HasMode::NON_DEFAULT)) << where << " is set";
  }

  void compare(const Json& want, capnp::DynamicValue::Reader have, const std::string& where,
               const std::string& field_name) {
    switch (have.getType()) {
      case capnp::DynamicValue::STRUCT:
        compare_struct(want, have.as<capnp::DynamicStruct>(), where);
        return;
      case capnp::DynamicValue::LIST: {
        const auto list = have.as<capnp::DynamicList>();
        ASSERT_EQ(list.size(), want.size()) << where;
        for (unsigned i = 0; i < list.size(); ++i) {
          compare(want[i], list[i], where + "[" + std::to_string(i) + "]", field_name);
        }
        return;
      }
      case capnp::DynamicValue::ANY_POINTER:
        ++tally_.reserved;
        return;
      default:
        compare_scalar(want, have, where, field_name);
    }
  }

  void compare_scalar(const Json& want, capnp::DynamicValue::Reader have, const std::string& where,
                      const std::string& field_name) {
    ++tally_.values;
    switch (have.getType()) {
      case capnp::DynamicValue::BOOL:
        EXPECT_EQ(have.as<bool>(), want.get<bool>()) << where;
        return;
      case capnp::DynamicValue::FLOAT:
        EXPECT_EQ(have.as<double>(), want.get<double>()) << where;
        return;
      case capnp::DynamicValue::INT:
        EXPECT_EQ(have.as<int64_t>(), want.get<int64_t>()) << where;
        return;
      case capnp::DynamicValue::UINT:
        compare_unsigned(want, have.as<uint64_t>(), where);
        return;
      case capnp::DynamicValue::TEXT:
        ASSERT_TRUE(want.is_string()) << where << want;
        EXPECT_STREQ(have.as<capnp::Text>().cStr(), want.get<std::string>().c_str()) << where;
        return;
      case capnp::DynamicValue::DATA:
        ASSERT_TRUE(want.is_string()) << where << want;
        EXPECT_EQ(hex(have.as<capnp::Data>()), want.get<std::string>()) << where;
        return;
      case capnp::DynamicValue::ENUM:
        ASSERT_TRUE(want.is_string()) << where << want;
        compare_enum(want.get<std::string>(), have.as<capnp::DynamicEnum>(), where, field_name);
        return;
      default:
        FAIL() << where << ": a kind of value no vector holds";
    }
  }

  // Enumerations without a table in the facts are plain numbers in our schema; the vector has
  // names.
  void compare_unsigned(const Json& want, uint64_t have, const std::string& where) {
    if (want.is_string()) {
      --tally_.values;
      ++tally_.reserved;
      return;
    }
    EXPECT_EQ(have, want.get<uint64_t>()) << where;
  }

  // The writer of the vectors had stand-ins a, b, c, ... for the network enumerations.
  static void compare_enum(const std::string& want, capnp::DynamicEnum have,
                           const std::string& where, const std::string& field_name) {
    if (field_name == "networkType" || field_name == "networkStrength") {
      EXPECT_EQ(have.getRaw(), want.at(0) - 'a') << where;
      return;
    }
    KJ_IF_MAYBE (enumerant, have.getEnumerant()) {
      EXPECT_STREQ(enumerant->getProto().getName().cStr(), want.c_str()) << where;
      return;
    }
    ADD_FAILURE() << where << ": value " << have.getRaw() << " has no name, wanted " << want;
  }

  static std::string hex(capnp::Data::Reader data) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : data) {
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
    return text;
  }

  Tally& tally_;
};

std::vector<std::byte> vector_file(const std::string& name) {
  auto bytes = read_file(shared_path("data/vectors/capnp/" + name), 1 << 20);
  EXPECT_TRUE(bytes.ok()) << name;
  return bytes.ok() ? *std::move(bytes) : std::vector<std::byte>();
}

Json vectors() {
  const auto text = read_text_file(shared_path("data/vectors/capnp/messages.json"), 8 << 20);
  return Json::parse(*text);
}

void compare_event(const Json& want, std::span<const std::byte> bytes, Tally& tally) {
  MessageReader reader;
  const auto status = read_event(reader, bytes, [&](wire::Event::Reader event) {
    EXPECT_EQ(static_cast<int>(event.which()), want["union_tag"].get<int>());
    EXPECT_EQ(event_kind(static_cast<uint16_t>(event.which())),
              want["event_member"].get<std::string>());
    Comparer(tally).compare_struct(want["event"], event, "event");
  });
  EXPECT_TRUE(status.ok()) << to_string(status.error());
}

TEST(MessageVectors, EveryNamedFieldHoldsItsValue) {
  MODELD_NEED_SHARED("data/vectors/capnp/messages.json");
  size_t files = 0;
  Tally all;
  for (const Json& want : vectors()) {
    if (want.contains("concatenation_of")) continue;
    SCOPED_TRACE(want["file"].get<std::string>());
    const auto bytes = vector_file(want["file"]);
    ASSERT_EQ(bytes.size(), want["bytes"].get<size_t>());
    const auto framing = read_framing(bytes, bytes.size());
    ASSERT_TRUE(framing.ok() && framing->has_value());
    EXPECT_EQ((*framing)->segments, want["segments_words"].size());
    EXPECT_EQ((*framing)->total_bytes, bytes.size());
    Tally tally;
    compare_event(want, bytes, tally);
    // CarParams is reserved for the greater part, livestreamAudio wholly; elsewhere nearly every
    // field has a type.
    const std::string member = want["event_member"];
    if (member != "carParams" && member != "carControl") {
      EXPECT_EQ(tally.unnamed, 0u);
      EXPECT_LE(tally.reserved, 6u);
    }
    all.values += tally.values;
    ++files;
  }
  EXPECT_EQ(files, 26u);
  RecordProperty("values_compared", static_cast<int>(all.values));
  EXPECT_GT(all.values, 3000u);
}

// Written by our writer (into memory too small for some of them), everything is still there.
TEST(MessageVectors, WrittenAgainHoldsTheSame) {
  MODELD_NEED_SHARED("data/vectors/capnp/messages.json");
  MessageWriter writer(1024);
  for (const Json& want : vectors()) {
    if (want.contains("concatenation_of")) continue;
    SCOPED_TRACE(want["file"].get<std::string>());
    const auto bytes = vector_file(want["file"]);
    MessageReader reader;
    const auto copied = read_event(
        reader, bytes, [&](wire::Event::Reader event) { writer.begin().setRoot(event); });
    ASSERT_TRUE(copied.ok()) << to_string(copied.error());
    const auto written = writer.finish();
    ASSERT_TRUE(written.ok()) << to_string(written.error());
    Tally tally;
    compare_event(want, *written, tally);
  }
}

TEST(MessageVectors, ConcatenatedMessagesReadLikeTheirParts) {
  MODELD_NEED_SHARED("data/vectors/capnp/messages.json");
  const Json list = vectors();
  for (const Json& want : list) {
    if (!want.contains("concatenation_of")) continue;
    const auto bytes = vector_file(want["file"]);
    EventLog log(bytes);
    for (const Json& part : want["concatenation_of"]) {
      const auto message = log.next();
      ASSERT_TRUE(message.has_value());
      const auto found = std::find_if(list.begin(), list.end(),
                                      [&](const Json& each) { return each["file"] == part; });
      ASSERT_NE(found, list.end());
      Tally tally;
      compare_event(*found, *message, tally);
      EXPECT_GT(tally.values, 2u);
    }
    EXPECT_FALSE(log.next().has_value());
    EXPECT_FALSE(log.losses().damaged());
    EXPECT_EQ(log.losses().truncated_bytes, 0u);
    EXPECT_EQ(log.messages(), want["concatenation_of"].size());
    return;
  }
  FAIL() << "no concatenated vector";
}

}  // namespace
}  // namespace modeld::ipc
