// Named static parameters of an op.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace modeld {

using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

// An ordered map, so that two equal ops serialise to equal bytes. Which names and kinds an op may
// have is the op schema's business (op_schema.h); after verify() the typed getters cannot meet a
// wrong kind, which is why they answer the default rather than an error.
class Attributes {
 public:
  using Map = std::map<std::string, AttributeValue, std::less<>>;

  void set(std::string name, AttributeValue value) { map_[std::move(name)] = std::move(value); }
  void erase(std::string_view name);
  bool has(std::string_view name) const { return map_.find(name) != map_.end(); }
  const AttributeValue* find(std::string_view name) const;

  int64_t get_int(std::string_view name, int64_t otherwise = 0) const;
  double get_float(std::string_view name, double otherwise = 0) const;
  std::string get_string(std::string_view name, std::string_view otherwise = "") const;
  std::vector<int64_t> get_ints(std::string_view name) const;
  std::vector<double> get_floats(std::string_view name) const;

  const Map& map() const { return map_; }
  bool operator==(const Attributes&) const = default;

 private:
  Map map_;
};

}  // namespace modeld
