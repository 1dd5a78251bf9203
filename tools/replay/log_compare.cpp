#include "tools/replay/log_compare.h"

#include <capnp/dynamic.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "ipc/schema/event_log.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"

namespace modeld::replay {
namespace {

constexpr std::array<std::string_view, 4> kIgnored = {"logMonoTime", "modelExecutionTime",
                                                      "gpuExecutionTime", "dspExecutionTime"};

struct Key {
  uint16_t tag = 0;
  uint32_t frame_id = 0;
  auto operator<=>(const Key&) const = default;
};

std::optional<Key> key_of(wire::Event::Reader event) {
  const auto tag = static_cast<uint16_t>(event.which());
  switch (event.which()) {
    case wire::Event::MODEL_V2:
      return Key{tag, event.getModelV2().getFrameId()};
    case wire::Event::DRIVING_MODEL_DATA:
      return Key{tag, event.getDrivingModelData().getFrameId()};
    case wire::Event::CAMERA_ODOMETRY:
      return Key{tag, event.getCameraOdometry().getFrameId()};
    case wire::Event::DRIVER_STATE_V2:
      return Key{tag, event.getDriverStateV2().getFrameId()};
    default:
      return std::nullopt;
  }
}

bool inside(const Key& key, const CompareOptions& options) {
  const bool cabin = ipc::event_kind(key.tag) == "driverStateV2";
  const auto& range = cabin ? options.cabin_ids : options.road_ids;
  return !range || (key.frame_id >= range->first && key.frame_id <= range->second);
}

using Messages = std::map<Key, std::vector<std::span<const std::byte>>>;

Messages messages_of(std::span<const std::byte> bytes, const CompareOptions& options,
                     uint64_t& broken) {
  Messages messages;
  ipc::EventLog log(bytes);
  ipc::MessageReader reader;
  while (const auto message = log.next()) {
    std::optional<Key> key;
    const Status read =
        ipc::read_event(reader, *message, [&](wire::Event::Reader event) { key = key_of(event); });
    if (!read.ok()) ++broken;
    if (key && inside(*key, options)) messages[*key].push_back(*message);
  }
  return messages;
}

bool is_number(capnp::DynamicValue::Type type) {
  return type == capnp::DynamicValue::FLOAT || type == capnp::DynamicValue::INT ||
         type == capnp::DynamicValue::UINT || type == capnp::DynamicValue::BOOL;
}

double number_of(const capnp::DynamicValue::Reader& value) {
  switch (value.getType()) {
    case capnp::DynamicValue::FLOAT:
      return value.as<double>();
    case capnp::DynamicValue::INT:
      return static_cast<double>(value.as<int64_t>());
    case capnp::DynamicValue::UINT:
      return static_cast<double>(value.as<uint64_t>());
    default:
      return value.as<bool>() ? 1 : 0;
  }
}

// Times in ns do not fit into a double.
bool same_number(const capnp::DynamicValue::Reader& a, const capnp::DynamicValue::Reader& b) {
  if (a.getType() == capnp::DynamicValue::INT) return a.as<int64_t>() == b.as<int64_t>();
  if (a.getType() == capnp::DynamicValue::UINT) return a.as<uint64_t>() == b.as<uint64_t>();
  const double x = number_of(a);
  const double y = number_of(b);
  return x == y || (std::isnan(x) && std::isnan(y));
}

std::string text_of(const capnp::DynamicValue::Reader& value) {
  constexpr size_t kLongest = 60;
  std::string text = kj::str(value).cStr();
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// Walks two messages at once and keeps the tally of every field.
class FieldTally {
 public:
  explicit FieldTally(double tolerance) : tolerance_(tolerance) {}

  void compare(capnp::DynamicStruct::Reader a, capnp::DynamicStruct::Reader b,
               std::string_view kind, uint32_t frame_id) {
    frame_id_ = frame_id;
    // The one field of the envelope that is not a clock.
    compare_value(std::string(kind) + ".(valid)", a.get("valid"), b.get("valid"));
    compare_struct(std::string(kind),
                   a.get(kj::StringPtr(kind.data(), kind.size())).as<capnp::DynamicStruct>(),
                   b.get(kj::StringPtr(kind.data(), kind.size())).as<capnp::DynamicStruct>());
  }

  std::vector<FieldResult> finish() { return std::move(fields_); }

 private:
  FieldResult& field(const std::string& path) {
    const auto [at, fresh] = places_.emplace(path, fields_.size());
    if (fresh) {
      fields_.emplace_back();
      fields_.back().field = path;
    }
    return fields_[at->second];
  }

  void differs(FieldResult& field, const std::string& reference, const std::string& found) {
    if (field.differing++ != 0) return;
    field.first_frame = frame_id_;
    field.reference = reference;
    field.found = found;
  }

  void compare_struct(const std::string& path, capnp::DynamicStruct::Reader a,
                      capnp::DynamicStruct::Reader b) {
    for (const auto member : a.getSchema().getFields()) {
      const std::string_view name(member.getProto().getName().begin(),
                                  member.getProto().getName().size());
      if (std::find(kIgnored.begin(), kIgnored.end(), name) != kIgnored.end()) continue;
      compare_value(path + "." + std::string(name), a.get(member), b.get(member));
    }
  }

  void compare_value(const std::string& path, const capnp::DynamicValue::Reader& a,
                     const capnp::DynamicValue::Reader& b) {
    switch (a.getType()) {
      case capnp::DynamicValue::STRUCT:
        compare_struct(path, a.as<capnp::DynamicStruct>(), b.as<capnp::DynamicStruct>());
        return;
      case capnp::DynamicValue::LIST:
        compare_list(path, a.as<capnp::DynamicList>(), b.as<capnp::DynamicList>());
        return;
      default:
        break;
    }
    compare_leaf(field(path), a, b);
  }

  void compare_leaf(FieldResult& field, const capnp::DynamicValue::Reader& a,
                    const capnp::DynamicValue::Reader& b) {
    ++field.values;
    if (is_number(a.getType())) {
      compare_numbers(field, a, b);
    } else if (a.getType() == capnp::DynamicValue::ANY_POINTER) {
      const bool none_a = a.as<capnp::AnyPointer>().isNull();
      const bool none_b = b.as<capnp::AnyPointer>().isNull();
      if (none_a != none_b) differs(field, none_a ? "none" : "some", none_b ? "none" : "some");
    } else if (a.getType() == capnp::DynamicValue::DATA) {
      compare_data(field, a.as<capnp::Data>(), b.as<capnp::Data>());
    } else if (text_of(a) != text_of(b)) {  // texts, enumerations by name
      differs(field, text_of(a), text_of(b));
    }
  }

  void compare_numbers(FieldResult& field, const capnp::DynamicValue::Reader& a,
                       const capnp::DynamicValue::Reader& b) {
    if (same_number(a, b)) return;
    const double x = number_of(a);
    const double y = number_of(b);
    const double apart = std::abs(x - y);
    if (std::isfinite(apart)) {
      field.worst = std::max(field.worst, apart);
      const double allowed = std::max(tolerance_, tolerance_ * std::max(std::abs(x), std::abs(y)));
      if (a.getType() == capnp::DynamicValue::FLOAT && apart <= allowed) return;
    }
    differs(field, text_of(a), text_of(b));
  }

  void compare_data(FieldResult& field, capnp::Data::Reader a, capnp::Data::Reader b) {
    if (a == b) return;
    differs(field, std::to_string(a.size()) + " bytes", std::to_string(b.size()) + " other bytes");
  }

  void compare_list(const std::string& path, capnp::DynamicList::Reader a,
                    capnp::DynamicList::Reader b) {
    if (a.size() != b.size()) {
      FieldResult& one = field(path);
      ++one.values;
      differs(one, std::to_string(a.size()) + " entries", std::to_string(b.size()) + " entries");
      return;
    }
    const bool structs = a.getSchema().whichElementType() == capnp::schema::Type::STRUCT;
    if (!structs) (void)field(path);
    for (unsigned i = 0; i < a.size(); ++i) {
      if (structs) {
        compare_value(path + "[" + std::to_string(i) + "]", a[i], b[i]);
      } else {
        compare_leaf(field(path), a[i], b[i]);
      }
    }
  }

  const double tolerance_;
  uint32_t frame_id_ = 0;
  std::map<std::string, size_t, std::less<>> places_;
  std::vector<FieldResult> fields_;
};

void without_partner(const Key& key, size_t count,
                     std::vector<std::pair<std::string, uint32_t>>& into) {
  for (size_t i = 0; i < count; ++i) {
    into.emplace_back(std::string(ipc::event_kind(key.tag)), key.frame_id);
  }
}

}  // namespace

std::span<const std::string_view> ignored_fields() {
  return kIgnored;
}

bool Comparison::same() const {
  return missing.empty() && extra.empty() && broken == 0 &&
         std::all_of(fields.begin(), fields.end(),
                     [](const FieldResult& field) { return field.differing == 0; });
}

Comparison compare_logs(std::span<const std::byte> reference, std::span<const std::byte> found,
                        const CompareOptions& options) {
  Comparison comparison;
  const Messages wanted = messages_of(reference, options, comparison.broken);
  const Messages have = messages_of(found, options, comparison.broken);
  FieldTally tally(options.tolerance);
  ipc::MessageReader reader_a;
  ipc::MessageReader reader_b;
  for (const auto& [key, list] : wanted) {
    const auto other = have.find(key);
    const size_t matched = other == have.end() ? 0 : std::min(list.size(), other->second.size());
    without_partner(key, list.size() - matched, comparison.missing);
    const std::string_view kind = ipc::event_kind(key.tag);
    const uint32_t frame_id = key.frame_id;
    for (size_t i = 0; i < matched; ++i) {
      ++comparison.messages;
      Status inner;
      const Status outer = ipc::read_event(reader_a, list[i], [&](wire::Event::Reader a) {
        inner = ipc::read_event(reader_b, other->second[i], [&](wire::Event::Reader b) {
          tally.compare(capnp::toDynamic(a), capnp::toDynamic(b), kind, frame_id);
        });
      });
      if (!outer.ok() || !inner.ok()) ++comparison.broken;
    }
  }
  for (const auto& [key, list] : have) {
    const auto other = wanted.find(key);
    const size_t matched = other == wanted.end() ? 0 : std::min(list.size(), other->second.size());
    without_partner(key, list.size() - matched, comparison.extra);
  }
  comparison.fields = tally.finish();
  return comparison;
}

}  // namespace modeld::replay
