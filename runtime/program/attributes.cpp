#include "runtime/program/attributes.h"

namespace modeld {
namespace {

template <typename T>
T get_or(const Attributes& attributes, std::string_view name, T otherwise) {
  const AttributeValue* value = attributes.find(name);
  if (value == nullptr) return otherwise;
  const T* typed = std::get_if<T>(value);
  return typed == nullptr ? otherwise : *typed;
}

}  // namespace

void Attributes::erase(std::string_view name) {
  if (const auto found = map_.find(name); found != map_.end()) map_.erase(found);
}

const AttributeValue* Attributes::find(std::string_view name) const {
  const auto found = map_.find(name);
  return found == map_.end() ? nullptr : &found->second;
}

int64_t Attributes::get_int(std::string_view name, int64_t otherwise) const {
  return get_or<int64_t>(*this, name, otherwise);
}

double Attributes::get_float(std::string_view name, double otherwise) const {
  return get_or<double>(*this, name, otherwise);
}

std::string Attributes::get_string(std::string_view name, std::string_view otherwise) const {
  return get_or<std::string>(*this, name, std::string(otherwise));
}

std::vector<int64_t> Attributes::get_ints(std::string_view name) const {
  return get_or<std::vector<int64_t>>(*this, name, {});
}

std::vector<double> Attributes::get_floats(std::string_view name) const {
  return get_or<std::vector<double>>(*this, name, {});
}

}  // namespace modeld
