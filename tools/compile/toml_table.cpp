#include "tools/compile/toml_table.h"

#include <cmath>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

std::string kind_of(const toml::node* node) {
  if (node == nullptr) return "nothing";
  switch (node->type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a truth value";
    default:
      return "a date or time";
  }
}

std::optional<std::vector<int64_t>> integers_of(const toml::node* node, size_t count) {
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr || list->size() != count) return std::nullopt;
  std::vector<int64_t> values;
  for (const toml::node& item : *list) {
    if (!item.is_integer()) return std::nullopt;
    values.push_back(item.as_integer()->get());
  }
  return values;
}

std::optional<double> number_of(const toml::node& node) {
  if (node.is_integer()) return static_cast<double>(node.as_integer()->get());
  if (node.is_floating_point() && std::isfinite(node.as_floating_point()->get())) {
    return node.as_floating_point()->get();
  }
  return std::nullopt;
}

}  // namespace

const toml::node* TomlTable::find(std::string_view key) {
  asked_.emplace(key);
  return table_.get(key);
}

Error TomlTable::wrong(std::string_view key, std::string expected, std::string found) const {
  const toml::node* node = table_.get(key);
  const auto at = node != nullptr ? node->source().begin.line : table_.source().begin.line;
  const std::string full = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  return Error(ErrorCode::kInvalidArgument, "key '" + printable(full) + "'")
      .expecting(std::move(expected), std::move(found))
      .in(file_ + ":" + std::to_string(at));
}

Error TomlTable::wrong_type(std::string_view key, std::string expected) const {
  return wrong(key, std::move(expected), kind_of(table_.get(key)));
}

Result<std::string> TomlTable::text(std::string_view key, std::string otherwise) {
  const toml::node* node = find(key);
  if (node == nullptr) return otherwise;
  if (!node->is_string()) return wrong_type(key, "a text");
  return node->as_string()->get();
}

Result<int64_t> TomlTable::integer(std::string_view key, int64_t otherwise, int64_t least,
                                   int64_t most) {
  const toml::node* node = find(key);
  if (node == nullptr) return otherwise;
  if (!node->is_integer()) return wrong_type(key, "an integer");
  const int64_t value = node->as_integer()->get();
  if (value >= least && value <= most) return value;
  return wrong(key, std::to_string(least) + ".." + std::to_string(most), std::to_string(value));
}

Result<double> TomlTable::number(std::string_view key, double otherwise) {
  const toml::node* node = find(key);
  if (node == nullptr) return otherwise;
  const auto value = number_of(*node);
  if (!value) return wrong_type(key, "a finite number");
  return *value;
}

Result<bool> TomlTable::flag(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return false;
  const auto* value = node->as_boolean();
  if (value == nullptr) return wrong_type(key, "true or false");
  return value->get();
}

Result<std::vector<int64_t>> TomlTable::integers(std::string_view key, size_t count) {
  auto values = integers_of(find(key), count);
  if (!values) return wrong_type(key, "a list of " + std::to_string(count) + " integers");
  return std::move(*values);
}

Result<std::vector<std::vector<int64_t>>> TomlTable::pairs(std::string_view key) {
  const toml::node* node = find(key);
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr) return wrong_type(key, "a list of pairs of integers");
  std::vector<std::vector<int64_t>> result;
  for (const toml::node& item : *list) {
    auto pair = integers_of(&item, 2);
    if (!pair) return wrong(key, "a list of pairs of integers", "a list of something else");
    result.push_back(std::move(*pair));
  }
  return result;
}

Result<std::vector<double>> TomlTable::numbers(std::string_view key, size_t count) {
  const toml::node* node = find(key);
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  const std::string want = "a list of " + std::to_string(count) + " finite numbers";
  if (list == nullptr || list->size() != count) return wrong_type(key, want);
  std::vector<double> values;
  for (const toml::node& item : *list) {
    const auto value = number_of(item);
    if (!value) return wrong(key, want, kind_of(&item));
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<std::string>> TomlTable::texts(std::string_view key) {
  std::vector<std::string> values;
  const toml::node* node = find(key);
  if (node == nullptr) return values;
  if (!node->is_array()) return wrong_type(key, "a list of texts");
  for (const toml::node& item : *node->as_array()) {
    if (!item.is_string()) return wrong(key, "a list of texts", kind_of(&item));
    values.push_back(item.as_string()->get());
  }
  return values;
}

Result<std::optional<TomlTable>> TomlTable::table(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::optional<TomlTable>();
  if (!node->is_table()) return wrong_type(key, "a table");
  const std::string path = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  return std::optional<TomlTable>(TomlTable(*node->as_table(), file_, path));
}

Result<std::vector<TomlTable>> TomlTable::tables(std::string_view key) {
  std::vector<TomlTable> result;
  const toml::node* node = find(key);
  if (node == nullptr) return result;
  if (!node->is_array()) return wrong_type(key, "a list of tables");
  const std::string path = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  for (const toml::node& item : *node->as_array()) {
    if (!item.is_table()) return wrong(key, "a list of tables", kind_of(&item));
    result.emplace_back(*item.as_table(), file_, path + "[" + std::to_string(result.size()) + "]");
  }
  return result;
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, node] : table_) names.emplace_back(key.str());
  return names;
}

Status TomlTable::finish() const {
  for (const auto& [key, node] : table_) {
    if (!asked_.contains(key.str())) return wrong(key.str(), "a known key", "an unknown key");
  }
  return {};
}

}  // namespace modeld::compile
